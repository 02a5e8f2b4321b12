// Does the official JavaScript client of query suggestions, version 5, do its work against a node?

import { algoliasearch } from 'algoliasearch-v5';
import { querySuggestionsClient } from 'suggestions-v5';
import { assert, report, step, target } from './check.mjs';

const host = { url: target.host, port: target.port, protocol: 'http', accept: 'readWrite' };
const admin = algoliasearch(target.appId, target.apiKey, { hosts: [host] });
const client = querySuggestionsClient(target.appId, target.apiKey, 'us', { hosts: [host] });
const refused = (status) => (error) => error.status === status;
const indexName = 'suggested queries';

const source = {
  indexName: 'suggestions shop',
  minHits: 2,
  facets: [{ attribute: 'kind', amount: 2 }],
  generate: [['color', 'kind']],
  external: ['suggestions asked'],
};

const built = async () => {
  for (let round = 0; round < 500; round += 1) {
    const status = await client.getConfigStatus({ indexName });
    if (!status.isRunning) return status;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error('not built in time');
};

step('the shop, and what was asked for', async () => {
  const indexSettings = { searchableAttributes: ['name'], attributesForFaceting: ['kind', 'color'] };
  const { taskID } = await admin.setSettings({ indexName: source.indexName, indexSettings });
  await admin.waitForTask({ indexName: source.indexName, taskID });
  const objects = Array.from({ length: 12 }, (_, number) => {
    const color = ['red', 'blue'][number % 2];
    const kind = ['lamp', 'desk', 'chair'][number % 3];
    return { objectID: String(number), color, kind, name: `${color} ${kind}` };
  });
  await admin.saveObjects({ indexName: source.indexName, objects, waitForTasks: true });
  const asked = [['1', 'Chairs', 4], ['2', 'chair', 9], ['3', 'unicorn', 5]];
  await admin.saveObjects({
    indexName: source.external[0],
    objects: asked.map(([objectID, query, count]) => ({ objectID, query, count })),
    waitForTasks: true,
  });
});

step('createConfig, getConfig, getAllConfigs', async () => {
  const created = await client.createConfig({ indexName, sourceIndices: [source], languages: ['en'] });
  assert.deepEqual(created, {
    status: 200,
    message: 'Configuration was created, and a new indexing job has been scheduled.',
  });
  await assert.rejects(client.createConfig({ indexName, sourceIndices: [source] }), refused(422));
  const config = await client.getConfig({ indexName });
  assert.deepEqual([config.appID, config.indexName, config.languages], [target.appId, indexName, ['en']]);
  assert.deepEqual(config.sourceIndices[0], { ...source, replicas: false, analyticsTags: [] });
  assert.deepEqual(await client.getAllConfigs(), [config]);
});

step('getConfigStatus, and the suggestions', async () => {
  const status = await built();
  assert.ok(!Number.isNaN(Date.parse(status.lastBuiltAt)), JSON.stringify(status));
  const { hits } = await admin.searchSingleIndex({ indexName, searchParams: { query: 'cha' } });
  assert.deepEqual([hits[0].query, hits[0].popularity, hits[0].nb_words], ['chair', 13, 1]);
  const said = hits[0][source.indexName];
  assert.equal(said.exact_nb_hits, 4);
  assert.deepEqual(said.facets.exact_matches.kind, [{ value: 'chair', count: 4 }]);
  assert.equal(hits[0]._highlightResult.query.value, '<em>cha</em>ir');
  assert.equal(hits.some((hit) => hit.query === 'red chair'), true);
});

step('getLogFile', async () => {
  const log = await client.getLogFile({ indexName });
  assert.ok(Array.isArray(log) && log.every((line) => line.timestamp && line.level && line.message), JSON.stringify(log));
  const skipped = log.filter((line) => line.level === 'SKIP').map((line) => line.message);
  assert.ok(skipped.includes('skipping query "unicorn": not enough search results, got 0, expected 2'), skipped.join('\n'));
});

step('updateConfig, deleteConfig', async () => {
  const configuration = { ...(await client.getConfig({ indexName })), exclude: ['chair'] };
  const updated = await client.updateConfig({ indexName, configuration });
  assert.equal(updated.message, 'Configuration was updated, and a new indexing job has been scheduled.');
  await built();
  const { hits } = await admin.searchSingleIndex({ indexName, searchParams: { query: 'chair' } });
  assert.deepEqual(hits, []);
  const deleted = await client.deleteConfig({ indexName });
  assert.equal(deleted.message, 'Configuration was deleted with success.');
  await assert.rejects(client.getConfig({ indexName }), refused(404));
  await assert.rejects(client.getLogFile({ indexName }), refused(404));
  assert.deepEqual(await client.getAllConfigs(), []);
  assert.equal(await admin.indexExists({ indexName }), true);
});

step('what is wrong, and who may not', async () => {
  await assert.rejects(client.createConfig({ indexName: 'x', sourceIndices: [] }), refused(400));
  const stranger = querySuggestionsClient(target.appId, 'nobody', 'us', { hosts: [host] });
  await assert.rejects(stranger.getAllConfigs(), refused(401));
});

await report('javascript_suggestions');
