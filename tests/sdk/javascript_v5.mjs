// Does the official JavaScript client, version 5, do its ordinary work against a node?

import { algoliasearch } from 'algoliasearch-v5';
import { assert, ids, people, report, step, target } from './check.mjs';

const host = { url: target.host, port: target.port, protocol: 'http', accept: 'readWrite' };
const client = algoliasearch(target.appId, target.apiKey, { hosts: [host] });
const indexName = 'v5 people/north';

const wait = async (name, answer) => {
  await client.waitForTask({ indexName: name, taskID: (await answer).taskID });
};
const search = (name, searchParams) => client.searchSingleIndex({ indexName: name, searchParams });

step('settings', async () => {
  await wait(indexName, client.setSettings({
    indexName,
    indexSettings: {
      searchableAttributes: ['name', 'company'],
      attributesForFaceting: ['searchable(company)', 'city', 'age'],
      customRanking: ['desc(age)'],
    },
  }));
  const settings = await client.getSettings({ indexName });
  assert.deepEqual(settings.searchableAttributes, ['name', 'company']);
});

step('indexExists', async () => {
  assert.equal(await client.indexExists({ indexName }), true);
  assert.equal(await client.indexExists({ indexName: 'v5_missing' }), false);
});

step('saveObjects and saveObject', async () => {
  const [answer] = await client.saveObjects({ indexName, objects: people, waitForTasks: true });
  assert.deepEqual(answer.objectIDs, ['1', '2', '3', '4']);
  const added = await client.saveObject({ indexName, body: { name: 'No Id' } });
  assert.ok(added.objectID && added.createdAt);
  await wait(indexName, added);
  await client.deleteObjects({ indexName, objectIDs: [added.objectID], waitForTasks: true });
  await wait(indexName, client.addOrUpdateObject({ indexName, objectID: 'a b/c%', body: { name: 'Odd Id' } }));
  assert.equal((await client.getObject({ indexName, objectID: 'a b/c%' })).name, 'Odd Id');
  await wait(indexName, client.deleteObject({ indexName, objectID: 'a b/c%' }));
});

step('getObjects', async () => {
  const { results } = await client.getObjects({
    requests: [
      { indexName, objectID: '2', attributesToRetrieve: ['name'] },
      { indexName, objectID: 'none' },
    ],
  });
  assert.equal(results[0].name, 'Warren Speach');
  assert.equal(results[0].company, undefined);
  assert.equal(results[1], null);
  await assert.rejects(client.getObject({ indexName, objectID: 'none' }), (error) => error.status === 404);
});

step('partialUpdateObjects with operations', async () => {
  await wait(indexName, client.partialUpdateObject({
    indexName,
    objectID: '1',
    attributesToUpdate: { age: { _operation: 'Increment', value: 2 }, tags: { _operation: 'AddUnique', value: 'vip' } },
  }));
  await client.partialUpdateObjects({
    indexName,
    objects: [{ objectID: '2', city: 'Lille' }, { objectID: 'ghost', city: 'Nowhere' }],
    createIfNotExists: false,
    waitForTasks: true,
  });
  const first = await client.getObject({ indexName, objectID: '1' });
  assert.equal(first.age, 33);
  assert.deepEqual(first.tags, ['vip']);
  assert.equal((await client.getObject({ indexName, objectID: '2' })).name, 'Warren Speach');
  await assert.rejects(client.getObject({ indexName, objectID: 'ghost' }), (error) => error.status === 404);
});

step('API keys: add, wait, list, update, delete, restore', async () => {
  const apiKey = { acl: ['search'], description: 'of a client', indexes: [indexName, 'v5_*'], maxHitsPerQuery: 2, referers: [], validity: 0 };
  const { key, createdAt } = await client.addApiKey(apiKey);
  assert.ok(key && createdAt);
  await client.waitForApiKey({ operation: 'add', key });
  const own = algoliasearch(target.appId, key, { hosts: [host] });
  const found = await own.searchSingleIndex({ indexName, searchParams: { hitsPerPage: 10 } });
  assert.equal(found.hits.length, 2);
  assert.equal((await own.getApiKey({ key })).description, '<redacted>');
  await assert.rejects(own.listApiKeys(), (error) => error.status === 403);
  await assert.rejects(own.searchSingleIndex({ indexName: 'other' }), (error) => error.status === 403);
  const listed = (await client.listApiKeys()).keys.find((it) => it.value === key);
  assert.deepEqual(listed.acl, ['search']);
  const changed = { acl: ['browse', 'search'], maxQueriesPerIPPerHour: 1000, queryParameters: 'hitsPerPage=1' };
  await client.updateApiKey({ key, apiKey: changed });
  await client.waitForApiKey({ operation: 'update', key, apiKey: changed });
  assert.equal((await own.searchSingleIndex({ indexName })).hits.length, 1);
  await client.deleteApiKey({ key });
  await client.waitForApiKey({ operation: 'delete', key });
  await assert.rejects(own.searchSingleIndex({ indexName }), (error) => error.status === 403);
  await client.restoreApiKey({ key });
  await client.waitForApiKey({ operation: 'add', key });
  await own.searchSingleIndex({ indexName });
  await client.deleteApiKey({ key });
});

step('generateSecuredApiKey', async () => {
  const { key } = await client.addApiKey({ acl: ['search', 'browse'] });
  const validUntil = Math.floor(Date.now() / 1000) + 600;
  const secured = client.generateSecuredApiKey({
    parentApiKey: key,
    restrictions: { filters: 'city:Oslo', restrictIndices: [indexName], validUntil, userToken: 'user 1', searchParams: { attributesToRetrieve: ['name'] } },
  });
  const holder = algoliasearch(target.appId, secured, { hosts: [host] });
  const { hits } = await holder.searchSingleIndex({ indexName, searchParams: { filters: 'age > 1' } });
  assert.deepEqual(ids(hits), ['1', '3']);
  assert.ok(hits.every((hit) => hit.company === undefined));
  await assert.rejects(holder.searchSingleIndex({ indexName: 'other' }), (error) => error.status === 403);
  await assert.rejects(holder.getObject({ indexName, objectID: '2' }), (error) => error.status === 404);
  const expired = client.generateSecuredApiKey({ parentApiKey: key, restrictions: { validUntil: 1000 } });
  const late = algoliasearch(target.appId, expired, { hosts: [host] });
  await assert.rejects(late.searchSingleIndex({ indexName }), (error) => error.status === 400);
  await client.deleteApiKey({ key });
  await assert.rejects(holder.searchSingleIndex({ indexName }), (error) => error.status === 403);
});

step('searchSingleIndex', async () => {
  const answer = await search(indexName, { query: 'paint' });
  assert.deepEqual(ids(answer.hits), ['1', '4']);
  assert.match(answer.hits.find((hit) => hit.objectID === '1')._highlightResult.company.value, /<em>Paint<\/em>/);
  assert.deepEqual(ids((await search(indexName, { query: 'speech' })).hits), ['2'], 'one typo');
  assert.equal((await search(indexName, { query: 'zzzzzz' })).nbHits, 0);
});

step('filters, facets, numbers', async () => {
  const answer = await search(indexName, { filters: 'age >= 40 AND company:"Norwalk Crmc"', facets: ['*'] });
  assert.deepEqual(ids(answer.hits), ['2', '3']);
  assert.equal(answer.facets.company['Norwalk Crmc'], 2);
  assert.equal(answer.facets_stats.age.avg, 45);
  assert.deepEqual(ids((await search(indexName, { facetFilters: [['city:Oslo', 'city:Accra']] })).hits), ['1', '3', '4']);
  assert.deepEqual(ids((await search(indexName, { numericFilters: ['age<30'] })).hits), ['4']);
});

step('search: several queries, facets among them', async () => {
  const { results } = await client.search({
    requests: [
      { indexName, query: 'paint', hitsPerPage: 1 },
      { indexName, type: 'facet', facet: 'company', facetQuery: 'norw' },
    ],
  });
  assert.equal(results[0].hits.length, 1);
  assert.equal(results[0].nbHits, 2);
  assert.equal(results[1].facetHits[0].value, 'Norwalk Crmc');
  const short = await client.searchForHits({ requests: [{ indexName, query: 'kim' }] });
  assert.deepEqual(ids(short.results[0].hits), ['3']);
});

step('searchForFacetValues', async () => {
  const answer = await client.searchForFacetValues({ indexName, facetName: 'company', searchForFacetValuesRequest: { facetQuery: 'norw' } });
  assert.equal(answer.facetHits[0].count, 2);
  assert.equal(answer.exhaustiveFacetsCount, true);
});

step('browse and browseObjects', async () => {
  const objects = Array.from({ length: 2500 }, (_, n) => ({ objectID: `n${n}`, n }));
  await client.saveObjects({ indexName: 'v5_many', objects, waitForTasks: true });
  const seen = [];
  await client.browseObjects({ indexName: 'v5_many', browseParams: {}, aggregator: ({ hits }) => seen.push(...hits) });
  assert.equal(new Set(ids(seen)).size, 2500);
  assert.equal(seen.length, 2500);
  const page = await client.browse({ indexName, browseParams: { filters: 'city:Oslo' } });
  assert.deepEqual(ids(page.hits), ['1', '3']);
  assert.equal(page.cursor, undefined);
});

step('batch and multipleBatch', async () => {
  await wait('v5_batch', client.batch({
    indexName: 'v5_batch',
    batchWriteParams: {
      requests: [
        { action: 'addObject', body: { objectID: 'x', n: 1 } },
        { action: 'updateObject', body: { objectID: 'y', n: 2 } },
        { action: 'partialUpdateObject', body: { objectID: 'x', m: 3 } },
        { action: 'deleteObject', body: { objectID: 'y' } },
      ],
    },
  }));
  assert.deepEqual(ids((await search('v5_batch', {})).hits), ['x']);
  const { taskID } = await client.multipleBatch({
    requests: [
      { indexName: 'v5_batch', action: 'clear', body: {} },
      { indexName: 'v5_batch2', action: 'addObject', body: { objectID: 'q' } },
    ],
  });
  for (const name of ['v5_batch', 'v5_batch2']) await client.waitForTask({ indexName: name, taskID: taskID[name] });
  assert.equal((await search('v5_batch', {})).nbHits, 0);
  assert.equal((await search('v5_batch2', {})).nbHits, 1);
});

step('deleteBy', async () => {
  const name = 'v5_doomed';
  await wait(name, client.setSettings({ indexName: name, indexSettings: { attributesForFaceting: ['city'] } }));
  await client.saveObjects({ indexName: name, objects: people, waitForTasks: true });
  await wait(name, client.deleteBy({ indexName: name, deleteByParams: { filters: 'city:Oslo' } }));
  assert.deepEqual(ids((await search(name, {})).hits), ['2', '4']);
});

step('operationIndex: copy, scoped copy and move', async () => {
  const operate = (source, operationIndexParams) => wait(source, client.operationIndex({ indexName: source, operationIndexParams }));
  await operate(indexName, { operation: 'copy', destination: 'v5_copy' });
  assert.equal((await search('v5_copy', {})).nbHits, 4);
  await operate(indexName, { operation: 'copy', destination: 'v5_settings_only', scope: ['settings'] });
  assert.equal((await search('v5_settings_only', {})).nbHits, 0);
  assert.deepEqual((await client.getSettings({ indexName: 'v5_settings_only' })).customRanking, ['desc(age)']);
  await operate('v5_copy', { operation: 'move', destination: 'v5_moved' });
  assert.equal(await client.indexExists({ indexName: 'v5_copy' }), false);
  assert.equal((await search('v5_moved', {})).nbHits, 4);
});

step('replaceAllObjects', async () => {
  await client.replaceAllObjects({ indexName, objects: [{ objectID: 'new', name: 'Only One', age: 1 }], batchSize: 1000 });
  assert.deepEqual(ids((await search(indexName, {})).hits), ['new']);
  assert.deepEqual((await client.getSettings({ indexName })).searchableAttributes, ['name', 'company'], 'settings stay');
  await client.replaceAllObjects({ indexName: 'v5_fresh', objects: people });
  assert.equal((await search('v5_fresh', {})).nbHits, 4, 'the index did not exist before');
});

step('rules promote, hide, redirect, give user data and ask for contexts', async () => {
  const name = 'v5_ruled';
  await wait(name, client.setSettings({ indexName: name, indexSettings: { customRanking: ['desc(age)'] } }));
  await client.saveObjects({ indexName: name, objects: people, waitForTasks: true });
  const plain = (await search(name, {})).hits.map((hit) => hit.objectID);
  const [first, second, third, last] = plain;
  const when = (pattern) => [{ pattern, anchoring: 'is' }];
  const rules = [
    { objectID: 'top', conditions: when(''), consequence: { promote: [{ objectID: last, position: 0 }] } },
    { objectID: 'gone', conditions: [{ context: 'safe' }], consequence: { hide: [{ objectID: second }] } },
    {
      objectID: 'help',
      conditions: when('help'),
      consequence: {
        params: { renderingContent: { redirect: { url: 'https://help.example' } } },
        userData: { banner: 'ask us' },
      },
    },
  ];
  await wait(name, client.saveRules({ indexName: name, rules }));
  const order = async (searchParams) => (await search(name, searchParams)).hits.map((hit) => hit.objectID);
  assert.deepEqual(await order({}), [last, first, second, third]);
  assert.deepEqual(await order({ ruleContexts: ['safe'] }), [last, first, third]);
  assert.deepEqual(await order({ enableRules: false }), plain);
  const help = await search(name, { query: 'help', getRankingInfo: true });
  assert.equal(help.renderingContent.redirect.url, 'https://help.example');
  assert.deepEqual(help.userData, [{ banner: 'ask us' }]);
  assert.deepEqual(help.appliedRules, [{ objectID: 'help' }]);
});

step('large bodies arrive compressed', async () => {
  const text = 'a long story '.repeat(300);
  const objects = Array.from({ length: 400 }, (_, n) => ({ objectID: `t${n}`, text: `${text}${n}` }));
  await client.saveObjects({ indexName: 'v5_large', objects, waitForTasks: true });
  assert.equal((await search('v5_large', { query: 'story' })).nbHits, 400);
});

const synonyms = [
  { objectID: 's1', type: 'synonym', synonyms: ['paint', 'colour'] },
  { objectID: 's2', type: 'oneWaySynonym', input: 'press', synonyms: ['print', 'news paper'] },
];
const rules = ['r1', 'r2', 'r3'].map((objectID) => ({
  objectID,
  conditions: [{ pattern: `offer ${objectID}`, anchoring: 'contains' }],
  consequence: { params: { filters: 'city:Oslo' } },
}));

/** What the hits of a browse helper hold: `each` is called with every document or with every answer. */
const browsed = async (browse) => {
  const found = [];
  await browse((answer) => found.push(...(answer.hits ?? [answer]).map((hit) => hit.objectID)));
  return found;
};

step('synonyms: save, get, search, browse, delete, clear', async () => {
  await wait('v5_known', client.saveSynonyms({ indexName: 'v5_known', synonymHit: synonyms, forwardToReplicas: false }));
  const placeholder = { objectID: 's3', type: 'placeholder', placeholder: '<street>', replacements: ['1', '2'] };
  const saved = await client.saveSynonym({ indexName: 'v5_known', objectID: 's3', synonymHit: placeholder });
  assert.equal(saved.id, 's3');
  await wait('v5_known', Promise.resolve(saved));
  assert.deepEqual(await client.getSynonym({ indexName: 'v5_known', objectID: 's2' }), synonyms[1]);
  const found = await client.searchSynonyms({ indexName: 'v5_known', searchSynonymsParams: { query: 'paint', type: 'synonym' } });
  assert.deepEqual([found.nbHits, found.hits[0].objectID], [1, 's1']);
  const all = await browsed((aggregator) => client.browseSynonyms({ indexName: 'v5_known', aggregator }));
  assert.deepEqual(all, ['s3', 's2', 's1']);
  await wait('v5_known', client.deleteSynonym({ indexName: 'v5_known', objectID: 's3' }));
  await assert.rejects(client.getSynonym({ indexName: 'v5_known', objectID: 's3' }), (error) => error.status === 404);
  await wait('v5_known', client.saveSynonyms({ indexName: 'v5_known', synonymHit: [synonyms[0]], replaceExistingSynonyms: true }));
  assert.deepEqual(await browsed((aggregator) => client.browseSynonyms({ indexName: 'v5_known', aggregator })), ['s1']);
});

step('rules of recommendations: batch, get, search, delete', async () => {
  const recommend = client.initRecommend({ options: { hosts: [host] } });
  const of = { indexName: 'v5_known', model: 'related-products' };
  const known = async (answer) => {
    const { taskID } = await answer;
    while ((await recommend.getRecommendStatus({ ...of, taskID })).status !== 'published');
  };
  const rule = (objectID) => ({
    objectID,
    condition: { context: 'mobile', filters: 'brand:Zorro AND price > 3' },
    consequence: {
      params: { automaticFacetFilters: [{ facet: 'brand', negative: true }], filters: 'stock > 0', optionalFilters: ['brand:x<score=2>'] },
      hide: [{ objectID: 'h' }],
      promote: [{ objectID: 'p', position: 0 }],
    },
    description: 'On the go',
    enabled: true,
    validity: [{ from: 1, until: 4_000_000_000 }],
  });
  await known(recommend.batchRecommendRules({ ...of, recommendRule: [rule('a'), rule('b/1')] }));
  assert.deepEqual(await recommend.getRecommendRule({ ...of, objectID: 'b/1' }), rule('b/1'));
  const found = await recommend.searchRecommendRules({
    ...of,
    searchRecommendRulesParams: { query: 'zor', context: 'mobile', enabled: true, page: 0, hitsPerPage: 1 },
  });
  assert.deepEqual([found.nbHits, found.page, found.nbPages, found.hits[0].objectID], [2, 0, 2, 'b/1']);
  assert.ok(Date.parse(found.hits[0]._metadata.lastUpdate) > 0);
  assert.ok(found.hits[0]._highlightResult.condition.filters.value.includes('<em>Zor</em>ro'));
  const all = { queryParameters: { clearExistingRules: true } };
  await known(recommend.batchRecommendRules({ ...of, recommendRule: found.hits }, all));
  assert.deepEqual(ids((await recommend.searchRecommendRules(of)).hits), ['b/1']);
  await known(recommend.deleteRecommendRule({ ...of, objectID: 'b/1' }));
  await assert.rejects(recommend.getRecommendRule({ ...of, objectID: 'b/1' }), (error) => error.status === 404);
  const stranger = client.initRecommend({ apiKey: 'not-a-key', options: { hosts: [host] } });
  await assert.rejects(stranger.searchRecommendRules(of), (error) => error.status === 401);
});

step('rules: save, get, search, browse, copy, clear', async () => {
  await wait('v5_known', client.saveRules({ indexName: 'v5_known', rules }));
  const saved = await client.saveRule({ indexName: 'v5_known', objectID: 'r4', rule: { ...rules[0], objectID: 'r4' } });
  await wait('v5_known', Promise.resolve(saved));
  assert.deepEqual(await client.getRule({ indexName: 'v5_known', objectID: 'r2' }), rules[1]);
  const found = await client.searchRules({ indexName: 'v5_known', searchRulesParams: { query: 'r2' } });
  assert.deepEqual([found.nbHits, found.hits[0].objectID, found.page, found.nbPages], [1, 'r2', 0, 1]);
  assert.deepEqual(await browsed((aggregator) => client.browseRules({ indexName: 'v5_known', aggregator })), ['r4', 'r3', 'r2', 'r1']);
  const operation = { operation: 'copy', destination: 'v5_known_copy', scope: ['rules', 'synonyms'] };
  await wait('v5_known', client.operationIndex({ indexName: 'v5_known', operationIndexParams: operation }));
  assert.equal((await client.searchRules({ indexName: 'v5_known_copy' })).nbHits, 4);
  assert.equal((await client.searchSynonyms({ indexName: 'v5_known_copy' })).nbHits, 1);
  await wait('v5_known', client.saveRules({ indexName: 'v5_known', rules: [rules[2]], clearExistingRules: true }));
  assert.equal((await client.searchRules({ indexName: 'v5_known' })).nbHits, 1);
  await wait('v5_known', client.deleteRule({ indexName: 'v5_known', objectID: 'r3' }));
  await wait('v5_known_copy', client.clearRules({ indexName: 'v5_known_copy' }));
  await wait('v5_known_copy', client.clearSynonyms({ indexName: 'v5_known_copy' }));
  assert.equal((await client.searchRules({ indexName: 'v5_known_copy' })).nbHits, 0);
  assert.equal((await client.searchSynonyms({ indexName: 'v5_known_copy' })).nbHits, 0);
  await assert.rejects(client.saveRule({ indexName: 'v5_known', objectID: 'x', rule: { objectID: 'x', consequence: { hide: 1 } } }), (error) => error.status === 400);
});

step('replicas: link, sort, forward, unlink, delete', async () => {
  const [name, young, fresh] = ['v5_shop', 'v5_shop_young', 'v5_shop_fresh'];
  const replicas = [young, `virtual(${fresh})`];
  await wait(name, client.setSettings({ indexName: name, indexSettings: { customRanking: ['desc(age)'], replicas } }));
  await client.saveObjects({ indexName: name, objects: people, waitForTasks: true });
  await wait(young, client.setSettings({ indexName: young, indexSettings: { ranking: ['asc(age)', 'typo', 'words'] } }));
  await wait(fresh, client.setSettings({ indexName: fresh, indexSettings: { customRanking: ['asc(age)'], relevancyStrictness: 90 } }));
  assert.deepEqual((await client.getSettings({ indexName: name })).replicas, replicas);
  assert.equal((await client.getSettings({ indexName: young })).primary, name);
  // a menu that sorts asks for the primary or for a replica by its name, all in one call
  const { results } = await client.search({ requests: [name, young, fresh].map((indexName) => ({ indexName, query: '' })) });
  const ages = results.map(({ hits }) => hits.map((hit) => hit.age));
  assert.deepEqual(ages, [[45, 45, 31, 28], [28, 31, 45, 45], [28, 31, 45, 45]]);
  assert.deepEqual(results.map((answer) => answer.nbSortedHits), [undefined, undefined, 4]);
  assert.equal(results[2].appliedRelevancyStrictness, 90);

  await wait(name, client.setSettings({ indexName: name, indexSettings: { searchableAttributes: ['name', 'city'] }, forwardToReplicas: true }));
  const pair = { objectID: 'pair', type: 'synonym', synonyms: ['capital', 'oslo'] };
  await wait(name, client.saveSynonyms({ indexName: name, synonymHit: [pair], forwardToReplicas: true }));
  const hide = { objectID: 'hide', conditions: [{ pattern: 'capital', anchoring: 'is' }], consequence: { hide: [{ objectID: '3' }] } };
  await wait(name, client.saveRules({ indexName: name, rules: [hide], forwardToReplicas: true }));
  for (const indexName of [name, young, fresh]) {
    assert.deepEqual((await client.getSettings({ indexName })).searchableAttributes, ['name', 'city'], indexName);
    assert.deepEqual(ids((await search(indexName, { query: 'capital' })).hits), ['1'], indexName);
  }
  await wait(name, client.partialUpdateObject({ indexName: name, objectID: '4', attributesToUpdate: { age: 99 } }));
  assert.equal((await search(young, {})).hits.at(-1).objectID, '4');
  await client.replaceAllObjects({ indexName: name, objects: people.slice(0, 2) });
  for (const indexName of [name, young, fresh]) assert.deepEqual(ids((await search(indexName, {})).hits), ['1', '2'], indexName);
  assert.deepEqual((await client.getSettings({ indexName: name })).replicas, replicas, 'replacing keeps the links');

  await assert.rejects(client.saveObject({ indexName: young, body: { objectID: 'x' } }), (error) => error.status === 403);
  await assert.rejects(client.deleteIndex({ indexName: young }), (error) => error.status === 403);
  await wait(name, client.setSettings({ indexName: name, indexSettings: { replicas: [] } }));
  assert.equal((await client.getSettings({ indexName: young })).primary, undefined);
  assert.equal((await search(young, {})).nbHits, 2);
  assert.equal((await search(fresh, {})).nbHits, 0);
  await wait(young, client.deleteIndex({ indexName: young }));
  assert.equal(await client.indexExists({ indexName: young }), false);
});

step('listIndices, clearObjects and deleteIndex', async () => {
  const { items } = await client.listIndices();
  const names = items.map((item) => item.name).filter((name) => name.startsWith('v5'));
  assert.ok(names.includes(indexName) && names.includes('v5_fresh'), names.join());
  await wait(indexName, client.clearObjects({ indexName }));
  assert.equal((await search(indexName, {})).nbHits, 0);
  for (const name of names) await wait(name, client.deleteIndex({ indexName: name }));
  assert.equal(await client.indexExists({ indexName }), false);
});

step('errors', async () => {
  const stranger = algoliasearch(target.appId, 'not-a-key', { hosts: [host] });
  await assert.rejects(stranger.searchSingleIndex({ indexName: 'any' }), (error) => error.status === 403);
  await assert.rejects(search('v5_missing', {}), (error) => error.status === 404);
  await assert.rejects(search('v5_missing', { hitsPerPage: 'many' }), (error) => error.status === 400 || error.status === 404);
});

step('getLogs', async () => {
  await client.saveObjects({ indexName, objects: [{ objectID: 'logged' }], waitForTasks: true });
  await client.searchSingleIndex({ indexName, searchParams: { query: 'logged' } });
  const { logs } = await client.getLogs({ offset: 0, length: 5, indexName, type: 'query' });
  const [entry] = logs;
  assert.ok(logs.length <= 5 && entry.query_body.includes('logged') && entry.answer_code === '200');
  assert.ok(entry.processing_time_ms && entry.timestamp && entry.sha1 && !entry.query_headers.includes(target.apiKey));
  await assert.rejects(client.getLogs({ length: 1001 }), (error) => error.status === 400);
});

step('setSources, appendSource, getSources, deleteSource', async () => {
  const sources = [{ source: '10.0.0.0/8', description: 'office' }];
  assert.ok((await client.replaceSources({ source: sources })).updatedAt);
  assert.ok((await client.appendSource({ source: '2001:db8::/32' })).createdAt);
  assert.deepEqual(await client.getSources(), [...sources, { source: '2001:db8::/32' }]);
  assert.ok((await client.deleteSource({ source: '10.0.0.0/8' })).deletedAt);
  await assert.rejects(client.deleteSource({ source: '10.0.0.0/8' }), (error) => error.status === 404);
  await client.replaceSources({ source: [] });
  assert.deepEqual(await client.getSources(), []);
});

await report('javascript client 5');
