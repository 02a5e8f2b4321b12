// Do the official JavaScript clients that ask for recommendations, versions 4 and 5, get them from a node?

import { algoliasearch } from 'algoliasearch-v5';
import recommendV4 from 'recommend-v4';
import { recommendClient } from 'recommend-v5';
import { assert, report, step, target } from './check.mjs';

const host = { url: target.host, port: target.port, protocol: 'http', accept: 'readWrite' };
const admin = algoliasearch(target.appId, target.apiKey, { hosts: [host] });
const v4 = (key) => recommendV4(target.appId, key, { hosts: [{ url: `${target.host}:${target.port}`, protocol: 'http' }] });
const v5 = (key) => recommendClient(target.appId, key, { hosts: [host] });
const indexName = 'recommend shop';
const names = (result) => result.hits.map((hit) => hit.objectID);

const shop = [
  ['lamp-1', 'Brass reading lamp', 'light'],
  ['lamp-2', 'Brass reading lamp, small', 'light'],
  ['lamp-3', 'Brass ceiling lamp', 'light'],
  ['desk', 'Oak reading desk', 'table'],
  ['chair', 'Oak chair', 'seat'],
  ['sofa', 'Red sofa', 'seat'],
].map(([objectID, name, kind], sold) => ({ objectID, name, kind, sold }));

step('the shop', async () => {
  const indexSettings = { searchableAttributes: ['name'], attributesForFaceting: ['kind'], customRanking: ['desc(sold)'] };
  const { taskID } = await admin.setSettings({ indexName, indexSettings });
  await admin.waitForTask({ indexName, taskID });
  await admin.saveObjects({ indexName, objects: shop, waitForTasks: true });
});

step('version 4: every model, threshold left out', async () => {
  const client = v4(target.apiKey);
  const of = (more) => [{ indexName, objectID: 'lamp-1', ...more }];
  const [alike] = (await client.getLookingSimilar(of({ maxRecommendations: 2 }))).results;
  assert.deepEqual(names(alike), ['lamp-2', 'lamp-3']);
  assert.ok(alike.hits[0]._score > alike.hits[1]._score && alike.hits[0].name === 'Brass reading lamp, small');
  const [related] = (await client.getRelatedProducts(of({ queryParameters: { filters: 'kind:table' } }))).results;
  assert.deepEqual(names(related), ['desk']);
  const bought = await client.getFrequentlyBoughtTogether(of({ fallbackParameters: { filters: 'kind:seat' } }));
  assert.ok(Array.isArray(bought.results[0].hits));
  const trending = await client.getTrendingItems([{ indexName }, { indexName, facetName: 'kind', facetValue: 'seat' }]);
  assert.equal(trending.results.length, 2);
  const facets = await client.getTrendingFacets([{ indexName, facetName: 'kind' }]);
  assert.ok(Array.isArray(facets.results[0].hits));
  const mixed = await client.getRecommendations([
    { indexName, objectID: 'lamp-1', model: 'related-products' },
    { indexName, objectID: 'none', model: 'looking-similar', threshold: 10 },
  ]);
  assert.equal(mixed.results[0].hits[0].objectID, 'lamp-2');
  assert.deepEqual(mixed.results[1].hits, []);
});

step('version 5: fallbacks, boosts and what is sent with them', async () => {
  const client = v5(target.apiKey);
  const { results } = await client.getRecommendations({
    requests: [
      {
        indexName,
        model: 'related-products',
        objectID: 'desk',
        threshold: 0,
        queryParameters: { optionalFilters: ['kind:seat'], clickAnalytics: true, userToken: 'ann', analyticsTags: ['page'] },
      },
      { indexName, model: 'bought-together', objectID: 'desk', threshold: 0, fallbackParameters: { query: 'oak', hitsPerPage: 3 } },
      { indexName, model: 'trending-items', threshold: 42.1, maxRecommendations: 5 },
      { indexName, model: 'trending-facets', facetName: 'kind', threshold: 0 },
    ],
  });
  assert.equal(results[0].hits[0].objectID, 'chair');
  assert.match(results[0].queryID, /^[0-9a-f]{32}$/);
  assert.deepEqual(results[1].hits.map((hit) => [hit.objectID, hit._score]), [['chair', 0]]);
  assert.equal(results[1].hits[0]._highlightResult.name.value, '<em>Oak</em> chair');
  assert.deepEqual([results[2].nbHits, results[3].nbHits], [0, 0]);
});

step('algoliasearch 5 with a secured key', async () => {
  const { key } = await admin.addApiKey({ acl: ['search'], indexes: [indexName] });
  await admin.waitForApiKey({ key, operation: 'add' });
  const secured = admin.generateSecuredApiKey({ parentApiKey: key, restrictions: { filters: 'NOT kind:light OR objectID:lamp-1' } });
  const client = algoliasearch(target.appId, secured).initRecommend({ options: { hosts: [host] } });
  const { results } = await client.getRecommendations([{ indexName, model: 'looking-similar', objectID: 'lamp-1', threshold: 0 }]);
  assert.deepEqual(names(results[0]), ['desk']);
  const wrong = client.getRecommendations({ requests: [{ indexName: 'other', model: 'looking-similar', objectID: 'a', threshold: 0 }] });
  await assert.rejects(wrong, (error) => error.status === 401);
});

step('what is wrong is named', async () => {
  const request = { indexName, model: 'looking-similar', objectID: 'lamp-1', threshold: 101 };
  const named = (error) => error.status === 400 && error.message.includes('threshold');
  await assert.rejects(v5(target.apiKey).getRecommendations({ requests: [request] }), named);
  await assert.rejects(v4(target.apiKey).getRecommendations([request]), named);
});

await report('javascript_recommend');
