//! Every bound of the service, in one place. Names end in their unit.

/// Characters of an index name (C§2).
pub const INDEX_NAME_CHARS_MAX: usize = 256;
/// Bytes of a minified record; the default of the option `record-bytes-max` (C§20).
pub const RECORD_BYTES_MAX: usize = 100_000;
/// Bytes of a request body after decompression; the default of the option `body-bytes-max`.
pub const BODY_BYTES_MAX: usize = 100 << 20;
/// Bytes of the body of one search after decompression, unless configured otherwise.
pub const SEARCH_BODY_BYTES_MAX: usize = 1 << 20;
/// Bytes of the body of a call with many searches or object IDs after decompression, unless configured otherwise.
pub const MULTI_BODY_BYTES_MAX: usize = 16 << 20;
/// Steps of aroundPrecision.
pub const PRECISION_STEPS_MAX: usize = 20;
/// Bytes of `query` and of each other text among parameters, unless it has a bound of its own (C§6.6).
pub const QUERY_BYTES_MAX: usize = 512;
/// Bytes of `highlightPreTag` and `highlightPostTag`: each stands in an answer many times.
pub const TAG_BYTES_MAX: usize = 1_024;
/// Bytes of an objectID.
pub const OBJECT_ID_BYTES_MAX: usize = 512;
/// Nesting of a JSON body; deeper bodies are refused before they are built.
pub const JSON_DEPTH_MAX: usize = 64;
/// Filters of one request, all kinds together (C§5.10).
pub const FILTERS_MAX: usize = 1_000;
/// Score of one filter (C§5.5).
pub const FILTER_SCORE_MAX: u32 = 65_535;
/// Nesting of parentheses in `filters`.
pub const FILTER_NESTING_MAX: usize = 64;
/// Bytes of `filters` or of another filter parameter given as text.
pub const FILTERS_TEXT_BYTES_MAX: usize = 64 << 10;
/// Bytes of the parameters of one search that may be any JSON, minified and all together: they are kept and passed on as trees.
pub const FREE_BYTES_MAX: usize = 32 << 10;
/// Entries of a list given as a search parameter.
pub const LIST_ENTRIES_MAX: usize = 1_000;
/// Characters of an analytics tag (C§20).
pub const ANALYTICS_TAG_CHARS_MAX: usize = 100;
/// Bytes of a browse cursor.
pub const CURSOR_BYTES_MAX: usize = 64 << 10;
/// Bytes of the minified body of a settings call.
pub const SETTINGS_BYTES_MAX: usize = 1 << 20;
/// Attributes of the setting `attributesForFaceting`: each is looked for in each record that is written.
pub const FACET_ATTRIBUTES_MAX: usize = 10_000;
/// Bytes of the token of a user (C§18.2), and of a search's that are kept (C§13.3).
pub const USER_TOKEN_BYTES_MAX: usize = 129;
/// Bytes of the setting `userData` (C§20).
pub const USER_DATA_BYTES_MAX: usize = 32 << 10;
/// Entries of customNormalization (C§20).
pub const NORMALIZATIONS_MAX: usize = 10;
/// Boxes or polygons of one request.
pub const GEO_SHAPES_MAX: usize = 1_000;
/// Points of a polygon (C§20).
pub const POLYGON_POINTS_MAX: usize = 10_000;
/// Points of all polygons of one request.
pub const POLYGONS_POINTS_MAX: usize = 50_000;
/// hitsPerPage and length (C§4.4).
pub const HITS_PER_PAGE_MAX: u64 = 1_000;
/// paginationLimitedTo (C§4.4).
pub const PAGINATION_LIMIT_MAX: u64 = 20_000;
/// maxValuesPerFacet (C§4.3).
pub const FACET_VALUES_MAX: u64 = 1_000;
/// maxFacetHits (C§4.3).
pub const FACET_HITS_MAX: u64 = 100;
/// Queries in one multi-query or objects in one multi-get.
pub const MULTI_MAX: usize = 1_000;
/// Filters of all queries of one call together, those that the caller's key forces on each included.
pub const MULTI_FILTERS_MAX: usize = 100_000;
/// Attributes that all objects of one multi-get list together, those that the caller's key forces on each included.
pub const MULTI_ATTRIBUTES_MAX: usize = 100_000;
/// Bytes of an answer, so that a small call cannot fill the memory, unless configured otherwise.
pub const ANSWER_BYTES_MAX: usize = 32 << 20;
/// maxRecommendations (C§17): what 0 stands for.
pub const RECOMMENDATIONS_MAX: u64 = 100;
/// Users that are forgotten by calls with one key in an hour: each makes files be written anew.
pub const FORGOTTEN_USERS_PER_HOUR: u64 = 1_000;
/// Records that a model names at most for one request.
pub const CANDIDATES_MAX: usize = 1_000;
/// Seconds after which no further query of a multi-query starts.
pub const MULTI_S: u64 = 30;
/// Operations of one batch.
pub const BATCH_OPS_MAX: usize = 100_000;
/// Bytes of one Raft entry before a batch is cut into chunks: what is committed, sent and applied at once stays small.
pub const ENTRY_BYTES: usize = 1 << 20;
/// Bytes of one Raft entry at most: one record more than [`ENTRY_BYTES`].
pub const ENTRY_BYTES_MAX: usize = 16 << 20;
/// Query words that rank and may match with typos, synonyms and the like; further ones must be there as they are written
/// (C§6.6).
pub const QUERY_WORDS_MAX: usize = 10;
/// Further query words that must be there, and excluded ones; the longest query (C§6.6) has fewer.
pub const QUERY_WORDS_BEYOND_MAX: usize = 256;
/// Placement groups of a cluster.
pub const PLACEMENT_GROUPS: u16 = 16;
/// Replicas of a placement group, as far as its cluster has nodes.
pub const REPLICATION: usize = 3;
/// Indices of a placement group, parts and replicas included: what a snapshot of it was tried with.
pub const INDICES_OF_GROUP_MAX: usize = 20_000;
/// Indices of an installation, parts and replicas included: every node knows all names.
pub const INDICES_MAX: usize = 200_000;
/// Operations that make an index shard publish at once.
pub const PUBLISH_OPS: usize = 256;
/// Milliseconds after which a busy shard publishes what it has.
pub const PUBLISH_MS: u64 = 20;
/// Bytes of unflushed segments that make a shard commit durably.
pub const FLUSH_BYTES: usize = 64 << 20;
/// Seconds after which a shard with unflushed segments commits durably.
pub const FLUSH_S: u64 = 5;
/// Index shards with an open writer on one node; the least recently used one is closed first.
pub const OPEN_WRITERS_MAX: usize = 32;
/// Index shards with an open view on one node.
pub const OPEN_VIEWS_MAX: usize = 1_024;
/// Bytes that proposals of one group may wait with; above it, 503.
pub const PROPOSAL_BYTES_MAX: usize = 256 << 20;
/// Committed bytes that one group may have unapplied; above it, 503.
pub const UNAPPLIED_BYTES_MAX: usize = 512 << 20;
/// Committed entries that one group may have unapplied for more than [`UNAPPLIED_S`]; above it, writes wait for the others.
pub const UNAPPLIED_ENTRIES_MAX: u64 = 500;
/// Seconds that the oldest unapplied entry of a group may be older than, before further writes wait (see
/// [`UNAPPLIED_ENTRIES_MAX`]).
pub const UNAPPLIED_S: u64 = 5;
/// Seconds a write waits to be committed before it answers 503.
pub const WRITE_S: u64 = 25;
/// Milliseconds a search may run before it is cut and says so.
pub const SEARCH_MS: u64 = 2_000;
/// Milliseconds that a search may wait for a thread; above it, 503: the caller has another host, or has gone.
pub const SEARCH_WAIT_MS: u64 = 500;
/// Searches that may wait for a thread; above it, 503.
pub const SEARCH_QUEUE_MAX: usize = 1_024;
/// Bytes of a value in the metadata store; longer ones are chunked, since the store leaves large ones for files that are never synced.
pub const KV_VALUE_BYTES_MAX: usize = 16 << 10;
/// Synonyms of one index (C§20).
pub const SYNONYMS_MAX: usize = 10_000;
/// Rules of one index (C§20).
pub const RULES_MAX: usize = 10_000;
/// Synonyms or rules of one page of a search for them (C§10.6).
pub const DOCUMENTS_PER_PAGE_MAX: u64 = 1_000;
/// Words or phrases of one list of a synonym (C§11: at most 100 for a one-way synonym).
pub const SYNONYM_ENTRIES_MAX: usize = 100;
/// Conditions of a rule (C§20).
pub const RULE_CONDITIONS_MAX: usize = 25;
/// Records that one rule promotes (C§20).
pub const RULE_PROMOTED_MAX: usize = 300;
/// Records of one promoted group (C§20).
pub const RULE_PROMOTED_GROUP_MAX: usize = 100;
/// Records that one rule hides (C§20).
pub const RULE_HIDDEN_MAX: usize = 50;
/// Bytes of the minified consequence of a rule (C§20).
pub const RULE_CONSEQUENCE_BYTES_MAX: usize = 100 << 10;
/// Bytes of one minified parameter of a consequence, and of a rule's description (C§20).
pub const RULE_PARAMETER_BYTES_MAX: usize = 16 << 10;
/// Bytes of the minified userData of a rule (C§20).
pub const RULE_USER_DATA_BYTES_MAX: usize = 1 << 10;
/// Query edits, automatic filters of a kind, periods and tags of one rule.
pub const RULE_LIST_ENTRIES_MAX: usize = 100;
/// Conditions of one rule of recommendations (C§20).
pub const RECOMMEND_RULE_CONDITIONS_MAX: usize = 10;
/// Records that one rule of recommendations promotes (C§20).
pub const RECOMMEND_RULE_PROMOTED_MAX: usize = 30;
/// Records that one rule of recommendations hides (C§20).
pub const RECOMMEND_RULE_HIDDEN_MAX: usize = 50;
/// Rules that one model of an index may have.
pub const RECOMMEND_RULES_MAX: usize = 10_000;
/// Allowed sources of an installation (C§13.5).
pub const SOURCES_MAX: usize = 1_000;
/// Bytes of the description of one: what they take together is one row of the meta state.
pub const SOURCE_DESCRIPTION_BYTES_MAX: usize = 512;

/// Bytes of the body of a batch of dictionary entries after decompression (C§20).
pub const DICTIONARY_BATCH_BYTES_MAX: usize = 10 << 20;
/// Custom entries of one dictionary; above it, 403.
pub const DICTIONARY_ENTRIES_MAX: usize = 200_000;
/// Bytes of the custom entries of one dictionary, on every node in memory; above it, 403.
pub const DICTIONARY_BYTES_MAX: usize = 32 << 20;
/// Words of a set of plurals, and parts of a compound.
pub const DICTIONARY_WORDS_MAX: usize = 100;
/// Entries of a dictionary that have the same word and act when it is looked up, the first by objectID.
pub const DICTIONARY_SAME_WORD_MAX: usize = 64;

/// Replicas of one index.
pub const REPLICAS_MAX: usize = 100;
/// Virtual replicas of one index (C§20).
pub const VIRTUAL_REPLICAS_MAX: usize = 20;

/// API keys of an installation beside the admin key (C§20). Applying commands goes by it.
pub const KEYS_MAX: usize = 5_000;
/// Deleted API keys that can be restored; with one more, the one that was deleted first cannot (C§13.1). Applying commands
/// goes by it.
pub const RESTORABLE_KEYS_MAX: usize = 1_000;
/// Bytes of a key as a minified JSON document: all keys together fit in an answer.
pub const KEY_BYTES_MAX: usize = 4 << 10;
/// Bytes of the description of a key.
pub const KEY_DESCRIPTION_BYTES_MAX: usize = 2 << 10;
/// Copies of its index that a key for one index comes to (C§3.2).
pub const KEY_COPIES_MAX: usize = 20;
/// Entries of `indexes` and of `referers` of a key.
pub const KEY_LIST_ENTRIES_MAX: usize = 1_000;
/// Bytes of a referer pattern of a key.
pub const KEY_REFERER_BYTES_MAX: usize = 512;
/// `validity` (seconds), `maxHitsPerQuery` and `maxQueriesPerIPPerHour` of a key: what typed clients can read.
pub const KEY_INTEGER_MAX: u64 = i32::MAX as u64;

/// Bytes of the body of a call with events (C§20: under 2 MB).
pub const EVENTS_BODY_BYTES_MAX: usize = 2_000_000 - 1;
/// Events of a call (C§20).
pub const EVENTS_MAX: usize = 1_000;
/// Records that an event is about (C§20).
pub const EVENT_OBJECTS_MAX: usize = 20;
/// Filters that an event is about (C§20).
pub const EVENT_FILTERS_MAX: usize = 10;
/// Bytes of a filter that an event is about.
pub const EVENT_FILTER_BYTES_MAX: usize = 1 << 10;

/// Configurations of query suggestions (C§16.4).
pub const SUGGESTION_CONFIGS_MAX: usize = 100;
/// Bytes of a configuration of query suggestions, as it is kept.
pub const SUGGESTION_CONFIG_BYTES_MAX: usize = 64 << 10;
