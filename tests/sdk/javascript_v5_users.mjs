// Does the official JavaScript client, version 5, place users on two clusters, and move and remove them while it reads and
// writes their records?

import { setTimeout as sleep } from 'node:timers/promises';
import { algoliasearch } from 'algoliasearch-v5';
import { assert, ids, people, report, step, target } from './check.mjs';

const hosts = process.env.QUORATE_HOSTS.split(',').map((address) => {
  const [url, port] = address.split(':');
  return { url, port: Number(port), protocol: 'http', accept: 'readWrite' };
});
const connect = (chosen) => algoliasearch(target.appId, target.apiKey, { hosts: chosen });
const client = connect(hosts);
const each = hosts.map((host) => connect([host]));
const indexName = 'v5_users';
const as = (user) => ({ headers: { 'X-Algolia-User-ID': user } });
const assign = (user, cluster) => client.assignUserId({ xAlgoliaUserID: user, assignUserIdParams: { cluster } });
const found = async (connected, user, query = '') => {
  const { results } = await connected.search({ requests: [{ indexName, query, hitsPerPage: 1000 }] }, as(user));
  return results[0].hits;
};

/** Asks until the answer is as wanted; the figures of users lag behind by seconds. */
const until = async (what, ask, isReached) => {
  const end = Date.now() + 60_000;
  for (;;) {
    const answer = await ask();
    if (isReached(answer)) return answer;
    assert.ok(Date.now() < end, `${what} not in time: ${JSON.stringify(answer)}`);
    await sleep(50);
  }
};
const settled = () => until(
  'nothing under way',
  () => client.hasPendingMappings({ getClusters: true }),
  ({ pending, clusters }) => !pending && Object.keys(clusters).length === 0,
);

step('two clusters without users', async () => {
  const { clusters } = await client.listClusters();
  assert.deepEqual(clusters.map((cluster) => cluster.clusterName).sort(), ['main', 'west']);
  assert.equal((await client.listUserIds()).userIDs.length, 0);
  assert.equal((await client.hasPendingMappings()).pending, false);
});

step('users are assigned one by one and many at a time', async () => {
  assert.ok(Date.parse((await assign('jane-doe', 'main')).createdAt) > 0);
  const batch = { cluster: 'west', users: ['john.roe', 'mary major'] };
  const created = await client.batchAssignUserIds({ xAlgoliaUserID: 'john.roe', batchAssignUserIdsParams: batch });
  assert.ok(Date.parse(created.createdAt) > 0);
  for (const connected of each) {
    const jane = await until(
      'the user on this node', () => connected.getUserId({ userID: 'jane-doe' }).catch((e) => e), (row) => row.userID,
    );
    assert.deepEqual(jane, { userID: 'jane-doe', clusterName: 'main', nbRecords: 0, dataSize: 0 });
  }
  assert.equal((await client.getUserId({ userID: 'mary major' })).clusterName, 'west');
  const { userIDs } = await client.listUserIds({ page: 0, hitsPerPage: 2 });
  assert.deepEqual(userIDs.map((row) => row.userID), ['jane-doe', 'john.roe']);
  const rest = await client.listUserIds({ page: 1, hitsPerPage: 2 });
  assert.deepEqual(rest.userIDs.map((row) => row.userID), ['mary major']);
});

step('a batch moves nobody, and nobody comes into a cluster that is not there', async () => {
  const batch = { cluster: 'main', users: ['john.roe'] };
  const moved = client.batchAssignUserIds({ xAlgoliaUserID: 'john.roe', batchAssignUserIdsParams: batch });
  await assert.rejects(moved, (error) => error.status === 400 && /cannot move/.test(error.message));
  await assert.rejects(assign('jane-doe', 'mars'), (error) => error.status === 400 && /main, west/.test(error.message));
  await assert.rejects(client.getUserId({ userID: 'nobody' }), (error) => error.status === 404);
});

step('each user finds the own records and the public ones, on every node', async () => {
  const settings = { searchableAttributes: ['name'], attributesForFaceting: ['age'] };
  const { taskID } = await client.setSettings({ indexName, indexSettings: settings });
  await client.waitForTask({ indexName, taskID });
  const save = (user, objects) => client.saveObjects({ indexName, objects, waitForTasks: true }, as(user));
  await save('jane-doe', people.slice(0, 3));
  await save('john.roe', [{ objectID: '1', name: 'Another Barninger', age: 1 }]);
  await save('*', [{ objectID: 'news', name: 'Barninger for everyone', age: 2 }]);
  for (const connected of each) {
    assert.deepEqual(ids(await found(connected, 'jane-doe')), ['1', '2', '3', 'news']);
    assert.deepEqual(ids(await found(connected, 'john.roe')), ['1', 'news']);
    assert.deepEqual(ids(await found(connected, 'mary major')), ['news']);
    const names = (await found(connected, 'john.roe', 'barningr')).map((hit) => hit.name).sort();
    assert.deepEqual(names, ['Another Barninger', 'Barninger for everyone']);
    assert.equal((await connected.getObject({ indexName, objectID: '1' }, as('john.roe'))).age, 1);
    assert.equal((await connected.getObject({ indexName, objectID: '1' }, as('jane-doe'))).age, 31);
  }
  const facets = { indexName, facetName: 'age', searchForFacetValuesRequest: {} };
  await assert.rejects(client.searchForFacetValues(facets, as('john.roe')), (error) => error.status === 400);
  const { facets: counts } = await client.searchSingleIndex({ indexName, searchParams: { facets: ['age'] } }, as('john.roe'));
  assert.deepEqual(counts.age, { 1: 1, 2: 1 });
});

step('one user changes nothing of another', async () => {
  const { taskID } = await client.partialUpdateObject(
    { indexName, objectID: '1', attributesToUpdate: { age: { _operation: 'Increment', value: 10 } } }, as('john.roe'),
  );
  await client.waitForTask({ indexName, taskID }, as('john.roe'));
  assert.equal((await client.getObject({ indexName, objectID: '1' }, as('john.roe'))).age, 11);
  assert.equal((await client.getObject({ indexName, objectID: '1' }, as('jane-doe'))).age, 31);
  const gone = await client.deleteBy({ indexName, deleteByParams: { filters: 'age < 40' } }, as('jane-doe'));
  await client.waitForTask({ indexName, taskID: gone.taskID }, as('jane-doe'));
  assert.deepEqual(ids(await found(client, 'jane-doe')), ['2', '3', 'news']);
  assert.deepEqual(ids(await found(client, 'john.roe')), ['1', 'news']);
  const browsed = [];
  const browse = { indexName, browseParams: { hitsPerPage: 1 }, aggregator: ({ hits }) => browsed.push(...hits) };
  await client.browseObjects(browse, as('jane-doe'));
  assert.deepEqual(ids(browsed), ['2', '3', 'news']);
});

step('a call for nobody or for somebody unknown is refused', async () => {
  const record = { objectID: 'x', name: 'x' };
  const isRefused = (error) => error.status === 400;
  await assert.rejects(client.saveObjects({ indexName, objects: [record] }), isRefused);
  await assert.rejects(client.saveObjects({ indexName, objects: [record] }, as('nobody')), isRefused);
  await assert.rejects(client.searchSingleIndex({ indexName }), isRefused);
  await assert.rejects(client.searchSingleIndex({ indexName }, as('nobody')), isRefused);
});

step('users are counted, ranked and found', async () => {
  const jane = () => client.getUserId({ userID: 'jane-doe' });
  const row = await until('the records of a user', jane, ({ nbRecords }) => nbRecords === 2);
  assert.ok(row.dataSize > 0);
  const top = () => client.getTopUserIds();
  const { topUsers } = await until('the top users', top, (answer) => answer.topUsers.west[0].nbRecords === 1);
  assert.deepEqual(topUsers.main.map((user) => [user.userID, user.clusterName]), [['jane-doe', 'main']]);
  assert.deepEqual(topUsers.west.map((user) => user.userID), ['john.roe', 'mary major']);
  const search = (params) => client.searchUserIds({ query: 'ja', ...params });
  const { hits, nbHits, page, hitsPerPage } = await search({ page: 0, hitsPerPage: 5 });
  assert.deepEqual([hits[0].userID, hits[0].objectID, nbHits, page, hitsPerPage], ['jane-doe', 'jane-doe', 1, 0, 5]);
  assert.equal(hits[0]._highlightResult.userID.value, '<em>ja</em>ne-doe');
  assert.equal((await search({ clusterName: 'west' })).nbHits, 0);
  const { clusters } = await client.listClusters();
  assert.deepEqual(clusters.map((cluster) => cluster.nbUserIDs), [1, 2]);
});

step('a user moves while somebody reads and writes for it', async () => {
  let written = 0;
  let published = 0;
  let reads = 0;
  let isOver = false;
  const guarded = (run) => run().finally(() => { isOver = true; });
  const writer = guarded(async () => {
    while (!isOver && written < 900) {
      const objects = [{ objectID: `moved-${written}`, name: 'moved', number: written }];
      await client.saveObjects({ indexName, objects, waitForTasks: true }, as('jane-doe'));
      written += 1;
      published = written;
    }
  });
  const reader = guarded(async () => {
    while (!isOver) {
      const [least, connected] = [published, each[reads % each.length]];
      const numbers = (await found(connected, 'jane-doe', 'moved')).map((hit) => hit.number).sort((a, b) => a - b);
      assert.ok(numbers.length >= least, `${numbers.length} of ${least} records`);
      assert.deepEqual(numbers, numbers.map((_, position) => position));
      reads += 1;
    }
  });
  const mover = guarded(async () => {
    for (const cluster of ['west', 'main', 'west']) {
      await until('a write and a read', async () => [written, reads], ([writes, seen]) => isOver || (writes > 3 && seen > 3));
      await assign('jane-doe', cluster);
      await settled();
      assert.equal((await client.getUserId({ userID: 'jane-doe' })).clusterName, cluster);
    }
  });
  await Promise.all([writer, reader, mover]);
  for (const connected of each) {
    assert.equal((await found(connected, 'jane-doe', 'moved')).length, written);
    assert.deepEqual(ids(await found(connected, 'john.roe')), ['1', 'news']);
  }
});

step('a removed user is gone with all records', async () => {
  assert.ok(Date.parse((await client.removeUserId({ userID: 'jane-doe' })).deletedAt) > 0);
  await until(
    'the removal', () => client.getUserId({ userID: 'jane-doe' }).catch((error) => error), (answer) => answer.status === 404,
  );
  await settled();
  await assert.rejects(client.searchSingleIndex({ indexName }, as('jane-doe')), (error) => error.status === 400);
  await assert.rejects(client.removeUserId({ userID: 'jane-doe' }), (error) => error.status === 404);
  await assign('jane-doe', 'main');
  assert.deepEqual(ids(await found(client, 'jane-doe')), ['news']);
});

await report('javascript client 5, two clusters');
