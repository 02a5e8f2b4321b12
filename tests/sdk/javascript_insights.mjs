// Do the official clients that report what users do, search-insights and version 5, tell a node what its figures then say?

import aa from 'search-insights';
import { insightsClient } from '@algolia/client-insights';
import { algoliasearch } from 'algoliasearch-v5';
import { assert, report, step, target, until } from './check.mjs';

const host = { url: target.host, port: target.port, protocol: 'http', accept: 'readWrite' };
const admin = algoliasearch(target.appId, target.apiKey, { hosts: [host] });
const analytics = admin.initAnalytics({ options: { hosts: [host] } });
const index = 'insights shop';
const event = { index, eventName: 'Seen in a test' };
const searched = {};

step('the shop, and a key for pages', async () => {
  const { taskID } = await admin.setSettings({ indexName: index, indexSettings: { attributesForFaceting: ['brand'] } });
  await admin.waitForTask({ indexName: index, taskID });
  const objects = ['red shoe', 'blue shoe', 'green hat'].map((name, at) => ({ objectID: `${at + 1}`, name, brand: 'acme' }));
  await admin.saveObjects({ indexName: index, objects, waitForTasks: true });
  const { key } = await admin.addApiKey({ acl: ['search'], indexes: [index] });
  await admin.waitForApiKey({ key, operation: 'add' });
  aa('init', { appId: target.appId, apiKey: key, host: `http://${target.host}:${target.port}`, userToken: 'ann' });
  for (const [user, query] of [['ann', 'shoe'], ['bob', 'shoe'], ['cat', 'hat']]) {
    const requests = [{ indexName: index, query, userToken: user, clickAnalytics: true }];
    searched[user] = (await admin.search({ requests })).results[0].queryID;
  }
});

step('search-insights: views, clicks, conversions and filters', async () => {
  const after = { ...event, queryID: searched.ann };
  const sent = [
    await aa('viewedObjectIDs', { ...event, objectIDs: ['1', '2'] }),
    await aa('clickedObjectIDsAfterSearch', { ...after, objectIDs: ['2'], positions: [2] }),
    await aa('clickedObjectIDsAfterSearch', { ...event, userToken: 'cat', queryID: searched.cat, objectIDs: ['3'], positions: [1] }),
    await aa('convertedObjectIDsAfterSearch', { ...after, objectIDs: ['2'] }),
    await aa('addedToCartObjectIDsAfterSearch', {
      ...after, objectIDs: ['2'], objectData: [{ price: 10.1, quantity: 3 }], currency: 'EUR', value: 30.3,
    }),
    await aa('viewedFilters', { ...event, filters: ['brand:acme'] }),
    await aa('clickedFilters', { ...event, filters: ['brand:acme & sons, "no: 1"'] }),
    await aa('convertedFilters', { ...event, filters: ['brand:acme'], authenticatedUserToken: 'ann-of-the-shop' }),
    await aa('convertedObjectIDs', { ...event, objectIDs: ['1'] }),
  ];
  assert.deepEqual(sent, Array(9).fill(true));
});

step('search-insights: purchases know the search from the click', async () => {
  const bought = { ...event, objectIDs: ['2'], objectData: [{ price: '10.1', quantity: 3, discount: 0.3 }], currency: 'EUR' };
  assert.equal(await aa('purchasedObjectIDsAfterSearch', { ...bought, objectData: [{ ...bought.objectData[0], queryID: searched.ann }] }), true);
  assert.equal(await aa('purchasedObjectIDs', { ...event, objectIDs: ['1'], objectData: [{ price: 999, quantity: 1 }], currency: 'EUR' }), true);
  const many = Array.from({ length: 1000 }, (_, at) => ({ ...event, eventType: 'view', objectIDs: [`${at}`] }));
  assert.equal(await aa('sendEvents', many), true);
});

step('search-insights: what is wrong changes nothing', async () => {
  assert.equal(await aa('clickedObjectIDs', { ...event, objectIDs: ['1'] }), false, 'clicks need positions');
  assert.equal(await aa('sendEvents', [{ ...event, eventType: 'view', objectIDs: ['1'], filters: ['brand:acme'] }]), false);
  assert.equal(await aa('viewedObjectIDs', { ...event, index: 'another', objectIDs: ['1'] }), false, 'not an index of the key');
});

step('client-insights: a batch, and the error of a wrong one', async () => {
  const insights = insightsClient(target.appId, target.apiKey, 'us', { hosts: [host] });
  const of = { ...event, userToken: 'bob', timestamp: Date.now(), queryID: searched.bob };
  const events = [
    { ...of, eventType: 'view', queryID: undefined, objectIDs: ['1'] },
    { ...of, eventType: 'click', objectIDs: ['1', '2'], positions: [1, 2] },
    { ...of, eventType: 'conversion', eventSubtype: 'purchase', objectIDs: ['1'], objectData: [{ queryID: searched.bob, price: 5, quantity: 2 }], currency: 'USD' },
  ];
  for (const repeated of [1, 2]) {
    assert.deepEqual(await insights.pushEvents({ events }), { status: 200, message: 'OK' }, `${repeated}`);
  }
  const wrong = insights.pushEvents({ events: [{ ...of, eventType: 'click', objectIDs: ['1'], positions: [0] }] });
  await assert.rejects(wrong, (error) => error.status === 422 && /strictly positive positions/.test(error.message));
});

step('figures say what happened', async () => {
  const revenue = ({ currencies }) => [currencies.EUR?.revenue, currencies.USD?.revenue];
  await until(() => analytics.getRevenue({ index }), (found) => `${revenue(found)}` === '30,10');
  const clicks = await analytics.getClickThroughRate({ index });
  assert.deepEqual([clicks.rate, clicks.clickCount, clicks.trackedSearchCount], [1, 4, 3]);
  assert.deepEqual((await analytics.getClickPositions({ index })).positions.slice(0, 2).map((of) => of.clickCount), [2, 2]);
  assert.equal((await analytics.getAverageClickPosition({ index })).average, 1.5);
  const rates = [analytics.getConversionRate({ index }), analytics.getAddToCartRate({ index }), analytics.getPurchaseRate({ index })];
  const thirds = (await Promise.all(rates)).map(({ rate }) => Math.round(rate * 3));
  assert.deepEqual(thirds, [2, 1, 2]);
  const [top] = (await analytics.getTopSearches({ index, clickAnalytics: true })).searches;
  assert.deepEqual([top.search, top.count, top.clickCount, top.conversionCount], ['shoe', 2, 3, 4]);
});

step('client-insights: a user who is forgotten is in no figure, and counts again later', async () => {
  const insights = insightsClient(target.appId, target.apiKey, 'us', { hosts: [host] });
  await insights.deleteUserToken({ userToken: 'ann' });
  await until(() => analytics.getUsersCount({ index }), ({ count }) => count === 2);
  // an answer may be two seconds old
  const { currencies } = await until(() => analytics.getRevenue({ index }), (found) => !found.currencies.EUR);
  assert.deepEqual(currencies, { USD: { currency: 'USD', revenue: 10 } });
  await until(() => analytics.getClickThroughRate({ index }), ({ clickCount }) => clickCount === 3);
  const requests = [{ indexName: index, query: 'shoe', userToken: 'ann', clickAnalytics: true }];
  const { queryID } = (await admin.search({ requests })).results[0];
  assert.equal(await aa('clickedObjectIDsAfterSearch', { ...event, queryID, objectIDs: ['1'], positions: [7] }), true);
  await until(() => analytics.getClickPositions({ index }), ({ positions }) => positions.some((of) => of.position[0] === 7 && of.clickCount === 1));
  await assert.rejects(insights.deleteUserToken({ userToken: 'an address@x' }), (error) => error.status === 422);
});

await report('javascript_insights');
