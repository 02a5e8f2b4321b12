// Does the official JavaScript client read all figures of searches from a node?

import { algoliasearch } from 'algoliasearch-v5';
import { assert, report, step, target } from './check.mjs';

const host = { url: target.host, port: target.port, protocol: 'http', accept: 'readWrite' };
const client = algoliasearch(target.appId, target.apiKey, { hosts: [host] });
const analytics = client.initAnalytics({ options: { hosts: [host] } });
const insights = client.initInsights({ options: { hosts: [host] } });
const index = 'analytics shop';

step('searches and what follows them', async () => {
  const { taskID } = await client.setSettings({ indexName: index, indexSettings: { attributesForFaceting: ['brand'] } });
  await client.waitForTask({ indexName: index, taskID });
  const objects = [{ objectID: '1', name: 'red shoe', brand: 'acme' }, { objectID: '2', name: 'blue shoe', brand: 'b' }];
  await client.saveObjects({ indexName: index, objects, waitForTasks: true });
  const search = async (query, userToken, more = {}) => {
    const { results } = await client.search({ requests: [{ indexName: index, query, userToken, ...more }] });
    return results[0].queryID;
  };
  const queryID = await search('shoe', 'ann', { clickAnalytics: true, analyticsTags: ['mobile'] });
  await search('shoe', 'bob', { filters: 'brand:acme' });
  await search('none of these', 'bob', { filters: 'brand:acme' });
  await search('not counted', 'cat', { analytics: false });
  const event = { index, userToken: 'ann', queryID, objectIDs: ['2'] };
  await insights.pushEvents({ events: [
    { ...event, eventType: 'click', eventName: 'Clicked', positions: [2] },
    { ...event, eventType: 'conversion', eventSubtype: 'addToCart', eventName: 'Added' },
    { ...event, queryID: undefined, eventType: 'conversion', eventSubtype: 'purchase', eventName: 'Bought', currency: 'EUR',
      objectData: [{ queryID, price: 12.5, quantity: 2 }] },
  ] });
  for (let tries = 0; (await analytics.getSearchesCount({ index })).count < 3; tries += 1) {
    assert.ok(tries < 300, 'not counted within a minute');
    await new Promise((done) => setTimeout(done, 200));
  }
});

step('every figure', async () => {
  const count = await analytics.getSearchesCount({ index, tags: 'mobile OR desktop' });
  assert.deepEqual([count.count, count.dates.length, count.dates[7].count], [1, 8, 1]);
  assert.equal((await analytics.getUsersCount({ index })).count, 2);
  assert.deepEqual((await analytics.getTopSearches({ index })).searches[0], { search: 'shoe', count: 2, nbHits: 1 });
  const [top] = (await analytics.getTopSearches({ index, revenueAnalytics: true, orderBy: 'clickThroughRate', direction: 'desc' })).searches;
  assert.deepEqual([top.search, top.clickThroughRate, top.averageClickPosition, top.currencies.EUR.revenue], ['shoe', 1, 2, 25]);
  const [without] = (await analytics.getSearchesNoResults({ index, limit: 1, offset: 0 })).searches;
  assert.deepEqual(without, { search: 'none of these', count: 1, withFilterCount: 1 });
  assert.deepEqual((await analytics.getSearchesNoClicks({ index })).searches, []);
  assert.equal((await analytics.getNoResultsRate({ index })).noResultCount, 1);
  assert.equal((await analytics.getNoClickRate({ index })).noClickCount, 0);
  const hits = (await analytics.getTopHits({ index, clickAnalytics: true, search: 'shoe' })).hits;
  assert.deepEqual(hits.map((hit) => [hit.hit, hit.count]).sort(), [['1', 2], ['2', 1]]);
  assert.deepEqual((await analytics.getTopFilterAttributes({ index })).attributes, [{ attribute: 'brand', count: 2 }]);
  const brand = { attribute: 'brand', operator: ':', value: 'acme' };
  assert.deepEqual((await analytics.getTopFilterForAttribute({ index, attribute: 'brand' })).values, [{ ...brand, count: 2 }]);
  assert.deepEqual((await analytics.getTopFiltersNoResults({ index })).values, [{ count: 1, values: [brand] }]);
  assert.deepEqual((await analytics.getTopCountries({ index })).countries, []);
  assert.deepEqual((await analytics.getClickPositions({ index })).positions[1], { position: [2, 2], clickCount: 1 });
  assert.equal((await analytics.getAverageClickPosition({ index })).average, 2);
  assert.equal((await analytics.getClickThroughRate({ index })).rate, 1);
  assert.deepEqual([(await analytics.getConversionRate({ index })).conversionCount, (await analytics.getAddToCartRate({ index })).rate], [2, 1]);
  assert.equal((await analytics.getPurchaseRate({ index })).purchaseCount, 1);
  assert.equal((await analytics.getRevenue({ index })).currencies.EUR.revenue, 25);
  assert.ok((await analytics.getStatus({ index })).updatedAt);
  const nothing = await analytics.getClickThroughRate({ index: 'never', startDate: '2026-01-01', endDate: '2026-01-02' });
  assert.deepEqual([nothing.rate, nothing.dates.length], [null, 2]);
  await assert.rejects(analytics.getTopSearches({ index, startDate: 'yesterday' }), (error) => error.status === 400);
});

await report('javascript_analytics');
