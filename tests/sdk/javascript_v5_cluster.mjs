// Does the official JavaScript client, version 5, work through the proxy of deploy/ over three nodes, also when one dies?
//
// The read host leads to listeners that refuse writes, the write host to such that refuse reads: a call that the client and
// the table of routes see differently fails.

import { setTimeout as sleep } from 'node:timers/promises';
import { algoliasearch } from 'algoliasearch-v5';
import { assert, people, report, step, target } from './check.mjs';

const need = (name) => process.env[name] ?? assert.fail(`${name} is not set; run tests/sdk/run`);
const host = (address, accept) => {
  const [url, port] = address.split(':');
  return { url, port: Number(port), protocol: 'http', accept };
};
const fallbacks = need('QUORATE_FALLBACKS').split(',');
const hosts = [
  host(need('QUORATE_READ'), 'read'),
  host(need('QUORATE_WRITE'), 'write'),
  ...fallbacks.map((address) => host(address, 'readWrite')),
];
const connect = (chosen) => algoliasearch(target.appId, target.apiKey, { hosts: chosen });
const client = connect(hosts);
const indexName = 'v5_cluster';
const read = (address) => connect([host(address, 'readWrite')]);
const post = (address, path, body) => fetch(`http://${address}${path}`, {
  method: 'POST',
  headers: { 'x-algolia-application-id': target.appId, 'x-algolia-api-key': target.apiKey },
  body: JSON.stringify(body),
});

step('settings, records and a search', async () => {
  const { taskID } = await client.setSettings({ indexName, indexSettings: { searchableAttributes: ['name'] } });
  await client.waitForTask({ indexName, taskID });
  await client.saveObjects({ indexName, objects: people, waitForTasks: true });
  const { results } = await client.search({ requests: [{ indexName, query: 'speach' }] });
  assert.equal(results[0].hits[0].objectID, '2');
  assert.equal((await client.getSettings({ indexName })).searchableAttributes[0], 'name');
});

step('rules and synonyms', async () => {
  const synonym = { objectID: 's', type: 'synonym', synonyms: ['paint', 'colour'] };
  const saved = await client.saveSynonym({ indexName, objectID: 's', synonymHit: synonym });
  await client.waitForTask({ indexName, taskID: saved.taskID });
  assert.equal((await client.searchSynonyms({ indexName })).nbHits, 1);
  assert.equal((await client.getSynonym({ indexName, objectID: 's' })).type, 'synonym');
});

step('each host refuses what belongs to the other', async () => {
  const write = await post(need('QUORATE_READ'), `/1/indexes/${indexName}/batch`, { requests: [] });
  assert.equal(write.status, 403);
  assert.match((await write.json()).message, /takes reads only.*belongs to writes/);
  const search = await post(need('QUORATE_WRITE'), `/1/indexes/${indexName}/query`, {});
  assert.equal(search.status, 403);
  assert.match((await search.json()).message, /takes writes only.*belongs to reads/);
});

step('what is published is found through every host', async () => {
  for (let round = 0; round < 10; round += 1) {
    const objectID = `published-${round}`;
    await client.saveObjects({ indexName, objects: [{ objectID, name: objectID }], waitForTasks: true });
    for (const address of [need('QUORATE_READ'), ...fallbacks]) {
      const found = await read(address).getObject({ indexName, objectID });
      assert.equal(found.name, objectID, address);
    }
  }
});

step('no call fails while a node is killed', async () => {
  const written = [];
  let stop = false;
  let searches = 0;
  const reader = (async () => {
    while (!stop) {
      const { nbHits } = await client.searchSingleIndex({ indexName, searchParams: { query: '' } });
      assert.ok(nbHits >= people.length);
      searches += 1;
      await sleep(10);
    }
  })();
  const writer = (async () => {
    let last;
    for (let number = 0; number < 60; number += 1) {
      if (number === 20) process.kill(Number(need('PID_n2')), 'SIGKILL');
      const objectID = `kept-${number}`;
      last = await client.saveObjects({ indexName, objects: [{ objectID, name: 'kept', number }] });
      written.push(objectID);
      await sleep(20);
    }
    await client.waitForTask({ indexName, taskID: last.at(-1).taskID, maxRetries: 100 });
  })();
  try {
    await writer;
  } finally {
    stop = true;
  }
  await reader;
  assert.ok(searches > 20, `${searches} searches`);
  const { results } = await client.getObjects({ requests: written.map((objectID) => ({ indexName, objectID })) });
  assert.deepEqual(results.map((record) => record?.objectID), written);
});

await report('javascript client 5, three nodes');
