-- Events and counted searches of Quorate in ClickHouse: a table for the lines of a sink (events_sink_url) and for the Parquet files of
-- events, and views of common questions. Rows come at least once; the table keeps one of those that are the same, and the views read
-- it with FINAL, so that a row counts once also before its parts are merged.
--
--   clickhouse-client --multiquery < clickhouse.sql
--
-- The sink may be ClickHouse itself:
--   events_sink_url = "https://HOST:8443/?query=INSERT%20INTO%20quorate.events%20FORMAT%20JSONEachRow&async_insert=1&wait_for_async_insert=1"
-- and files are read where they lie, with file() or s3():
--   INSERT INTO quorate.events SELECT * FROM file('events/*/*/*.parquet', Parquet)
-- Programs of ClickHouse that read times strictly need &date_time_input_format=best_effort in the address.

CREATE DATABASE IF NOT EXISTS quorate;

CREATE TABLE IF NOT EXISTS quorate.events
(
    `index` LowCardinality(String),
    `user_hash` UInt64,
    `user` String,
    `authenticated_user` Nullable(String),
    `time` DateTime64(3, 'UTC'),
    `is_timed` Bool,
    `kind` LowCardinality(String),
    `event` LowCardinality(Nullable(String)),
    `object` Nullable(String),
    `position` Nullable(UInt32),
    `query_id` Nullable(UUID),
    `value` Nullable(Decimal(38, 15)),
    `price` Nullable(Decimal(38, 15)),
    `quantity` Nullable(UInt32),
    `discount` Nullable(Decimal(38, 15)),
    `currency` LowCardinality(Nullable(String)),
    `filter` Nullable(String),
    `query` Nullable(String),
    `hits` Nullable(UInt64),
    `shown` Array(String),
    `tags` Array(String),
    `country` LowCardinality(Nullable(String)),
    `query_ids` Array(UUID),
    `fingerprint` UInt64,
    `log_index` UInt64,
    `filters` Array(String),
    `stands` Nullable(Bool)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(time)
ORDER BY (`index`, user_hash, time, fingerprint)
TTL toDateTime(time) + INTERVAL 400 DAY;

-- Searches with the kinds of events that named one of their queryIDs within a day. Both sides are sets of one index.
CREATE VIEW IF NOT EXISTS quorate.searches AS
WITH
    searches AS
    (
        SELECT `index`, user, time, query, hits, tags, country, query_ids, fingerprint
        FROM quorate.events FINAL
        WHERE kind = 'search'
    ),
    followed AS
    (
        SELECT s.`index` AS `index`, s.fingerprint AS fingerprint, s.time AS time,
            countIf(e.kind = 'click') AS clicks,
            countIf(e.kind IN ('conversion', 'addToCart', 'purchase')) AS conversions,
            countIf(e.kind = 'purchase') AS purchases
        FROM (SELECT `index`, fingerprint, time, arrayJoin(query_ids) AS query_id FROM searches) AS s
        INNER JOIN
        (
            SELECT `index`, assumeNotNull(query_id) AS query_id, kind, time
            FROM quorate.events FINAL
            WHERE kind != 'search' AND query_id IS NOT NULL
        ) AS e ON s.`index` = e.`index` AND s.query_id = e.query_id
        WHERE e.time >= s.time - INTERVAL 1 DAY AND e.time < s.time + INTERVAL 1 DAY
        GROUP BY ALL
    )
SELECT s.`index` AS `index`, s.user AS user, s.time AS time, s.query AS query, s.hits AS hits, s.tags AS tags, s.country AS country,
    notEmpty(s.query_ids) AS is_tracked, f.clicks AS clicks, f.conversions AS conversions, f.purchases AS purchases
FROM searches AS s
LEFT JOIN followed AS f ON s.`index` = f.`index` AND s.fingerprint = f.fingerprint AND s.time = f.time;

-- What was searched most, a day at a time: SELECT … WHERE index = 'products' AND day >= today() - 30 GROUP BY query.
CREATE VIEW IF NOT EXISTS quorate.top_searches AS
SELECT `index`, toDate(time) AS day, query, count() AS searches, uniq(user) AS users, countIf(hits = 0) AS without_hits, avg(hits) AS average_hits,
    countIf(is_tracked) AS tracked, countIf(is_tracked AND clicks > 0) AS clicked, countIf(is_tracked AND conversions > 0) AS converted
FROM quorate.searches
GROUP BY `index`, day, query;

-- Click-through and conversion rates of tracked searches by day.
CREATE VIEW IF NOT EXISTS quorate.rates AS
SELECT `index`, day, sum(tracked) AS tracked_searches, sum(clicked) / nullIf(sum(tracked), 0) AS click_through_rate,
    sum(converted) / nullIf(sum(tracked), 0) AS conversion_rate
FROM quorate.top_searches
GROUP BY `index`, day;

-- What is clicked, put into carts and bought, a day at a time.
CREATE VIEW IF NOT EXISTS quorate.top_objects AS
SELECT `index`, toDate(time) AS day, assumeNotNull(object) AS object, countIf(kind = 'view') AS views, countIf(kind = 'click') AS clicks,
    countIf(kind = 'addToCart') AS carts, countIf(kind = 'purchase') AS purchases, uniq(user) AS users
FROM quorate.events FINAL
WHERE object IS NOT NULL AND kind != 'search'
GROUP BY `index`, day, object;

-- Price times quantity less discount of what was bought after a search, by currency and day.
CREATE VIEW IF NOT EXISTS quorate.revenue AS
SELECT `index`, toDate(time) AS day, assumeNotNull(currency) AS currency, count() AS items,
    sum(toDecimal128(assumeNotNull(price), 6) * ifNull(quantity, 1) - toDecimal128(ifNull(discount, 0), 6)) AS revenue
FROM quorate.events FINAL
WHERE kind = 'purchase' AND price IS NOT NULL AND currency IS NOT NULL AND query_id IS NOT NULL
GROUP BY `index`, day, currency;
