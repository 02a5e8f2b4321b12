// Does the official JavaScript client, version 4, do its ordinary work against a node?

import { createRequire } from 'node:module';
import { assert, ids, people, report, step, target } from './check.mjs';

const algoliasearch = createRequire(import.meta.url)('algoliasearch-v4');
const client = algoliasearch(target.appId, target.apiKey, {
  hosts: [{ url: `${target.host}:${target.port}`, protocol: 'http' }],
});
const index = client.initIndex('v4 people/north');
const copy = client.initIndex('v4_copy');

step('settings', async () => {
  await index.setSettings({
    searchableAttributes: ['name', 'company'],
    attributesForFaceting: ['searchable(company)', 'city', 'age'],
    customRanking: ['desc(age)'],
  }).wait();
  const settings = await index.getSettings();
  assert.deepEqual(settings.searchableAttributes, ['name', 'company']);
  assert.deepEqual(settings.customRanking, ['desc(age)']);
});

step('exists', async () => {
  assert.equal(await index.exists(), true);
  assert.equal(await client.initIndex('v4_missing').exists(), false);
});

step('saveObjects and saveObject', async () => {
  const { objectIDs } = await index.saveObjects(people).wait();
  assert.deepEqual(objectIDs, ['1', '2', '3', '4']);
  const generated = await index.saveObjects([{ name: 'No Id' }], { autoGenerateObjectIDIfNotExist: true }).wait();
  assert.equal(generated.objectIDs.length, 1);
  await index.deleteObject(generated.objectIDs[0]).wait();
  const one = await index.saveObject({ objectID: 'a b/c%', name: 'Odd Id' }).wait();
  assert.equal(one.objectID, 'a b/c%');
  assert.equal((await index.getObject('a b/c%')).name, 'Odd Id');
  await index.deleteObjects(['a b/c%']).wait();
});

step('getObjects', async () => {
  const { results } = await index.getObjects(['2', 'none', '1'], { attributesToRetrieve: ['name'] });
  assert.equal(results[0].name, 'Warren Speach');
  assert.equal(results[0].company, undefined);
  assert.equal(results[1], null);
  assert.equal(results[2].objectID, '1');
  await assert.rejects(index.getObject('none'), (error) => error.status === 404);
});

step('partialUpdateObjects with operations', async () => {
  await index.partialUpdateObject({ objectID: '1', age: { _operation: 'Increment', value: 2 }, tags: { _operation: 'AddUnique', value: 'vip' } }).wait();
  await index.partialUpdateObjects([{ objectID: '2', city: 'Lille' }, { objectID: 'ghost', city: 'Nowhere' }], { createIfNotExists: false }).wait();
  const first = await index.getObject('1');
  assert.equal(first.age, 33);
  assert.deepEqual(first.tags, ['vip']);
  assert.equal((await index.getObject('2')).city, 'Lille');
  assert.equal((await index.getObject('2')).name, 'Warren Speach');
  await assert.rejects(index.getObject('ghost'), (error) => error.status === 404);
});

step('search', async () => {
  const answer = await index.search('paint');
  assert.deepEqual(ids(answer.hits), ['1', '4']);
  assert.equal(answer.nbHits, 2);
  assert.equal(answer.query, 'paint');
  assert.match(answer.hits.find((hit) => hit.objectID === '1')._highlightResult.company.value, /<em>Paint<\/em>/);
  assert.deepEqual(ids((await index.search('speech')).hits), ['2'], 'one typo');
  assert.deepEqual(ids((await index.search('norw')).hits), ['2', '3'], 'prefix');
  assert.equal((await index.search('zzzzzz')).nbHits, 0);
});

step('filters, facets, numbers', async () => {
  const answer = await index.search('', { filters: 'age >= 40 AND company:"Norwalk Crmc"', facets: ['company', 'age'] });
  assert.deepEqual(ids(answer.hits), ['2', '3']);
  assert.equal(answer.facets.company['Norwalk Crmc'], 2);
  assert.equal(answer.facets_stats.age.max, 45);
  assert.deepEqual(ids((await index.search('', { facetFilters: [['city:Oslo', 'city:Accra']] })).hits), ['1', '3', '4']);
  assert.deepEqual(ids((await index.search('', { numericFilters: ['age<30'] })).hits), ['4']);
  assert.deepEqual(ids((await index.search('', { filters: 'NOT city:Oslo' })).hits), ['2', '4']);
});

step('pagination', async () => {
  const page = await index.search('', { hitsPerPage: 3, page: 1 });
  assert.equal(page.hits.length, 1);
  assert.equal(page.nbPages, 2);
  assert.equal((await index.search('', { offset: 1, length: 2 })).hits.length, 2);
});

step('searchForFacetValues', async () => {
  const { facetHits } = await index.searchForFacetValues('company', 'norw');
  assert.equal(facetHits[0].value, 'Norwalk Crmc');
  assert.equal(facetHits[0].count, 2);
  await assert.rejects(index.searchForFacetValues('city', 'o'), (error) => error.status === 400);
});

step('multipleQueries', async () => {
  const queries = [
    { indexName: index.indexName, query: 'paint', params: { hitsPerPage: 1 } },
    { indexName: index.indexName, query: 'kim' },
  ];
  const { results } = await client.multipleQueries(queries);
  assert.equal(results[0].index, index.indexName);
  assert.equal(results[0].hits.length, 1);
  assert.deepEqual(ids(results[1].hits), ['3']);
  const stopped = await client.multipleQueries(queries, { strategy: 'stopIfEnoughMatches' });
  assert.equal(stopped.results[1].processed, false);
});

step('browseObjects', async () => {
  const many = client.initIndex('v4_many');
  await many.saveObjects(Array.from({ length: 2500 }, (_, n) => ({ objectID: `n${n}`, n }))).wait();
  const seen = [];
  await many.browseObjects({ batch: (hits) => seen.push(...hits) });
  assert.equal(seen.length, 2500);
  assert.equal(new Set(ids(seen)).size, 2500);
  const few = [];
  await index.browseObjects({ query: '', filters: 'city:Oslo', batch: (hits) => few.push(...hits) });
  assert.deepEqual(ids(few), ['1', '3']);
});

step('batch of every action', async () => {
  await client.multipleBatch([
    { action: 'addObject', indexName: 'v4_batch', body: { objectID: 'x', n: 1 } },
    { action: 'updateObject', indexName: 'v4_batch', body: { objectID: 'y', n: 2 } },
    { action: 'partialUpdateObject', indexName: 'v4_batch', body: { objectID: 'x', m: 3 } },
    { action: 'partialUpdateObjectNoCreate', indexName: 'v4_batch', body: { objectID: 'z', m: 3 } },
    { action: 'deleteObject', indexName: 'v4_batch', body: { objectID: 'y' } },
  ]).wait();
  const { hits } = await client.initIndex('v4_batch').search('');
  assert.deepEqual(hits.map(({ objectID, n, m }) => ({ objectID, n, m })), [{ objectID: 'x', n: 1, m: 3 }]);
});

step('deleteBy', async () => {
  const doomed = client.initIndex('v4_doomed');
  await doomed.setSettings({ attributesForFaceting: ['city'] }).wait();
  await doomed.saveObjects(people).wait();
  await doomed.deleteBy({ filters: 'city:Oslo' }).wait();
  assert.deepEqual(ids((await doomed.search('')).hits), ['2', '4']);
  await assert.rejects(doomed.deleteBy({ filters: '' }), (error) => error.status === 400);
});

step('copyIndex, copySettings and moveIndex', async () => {
  await client.copyIndex(index.indexName, copy.indexName).wait();
  assert.equal((await copy.search('')).nbHits, 4);
  assert.deepEqual((await copy.getSettings()).customRanking, ['desc(age)']);
  await client.copySettings(index.indexName, 'v4_settings_only').wait();
  assert.equal((await client.initIndex('v4_settings_only').search('')).nbHits, 0);
  await client.moveIndex(copy.indexName, 'v4_moved').wait();
  assert.equal(await copy.exists(), false);
  assert.equal((await client.initIndex('v4_moved').search('')).nbHits, 4);
});

step('replaceAllObjects', async () => {
  await index.replaceAllObjects([{ objectID: 'new', name: 'Only One', age: 1 }], { safe: true });
  assert.deepEqual(ids((await index.search('')).hits), ['new']);
  assert.deepEqual((await index.getSettings()).searchableAttributes, ['name', 'company'], 'settings stay');
  const fresh = client.initIndex('v4_fresh');
  await fresh.replaceAllObjects(people, { safe: true });
  assert.equal((await fresh.search('')).nbHits, 4, 'the index did not exist before');
});

step('findObject and getObjectPosition', async () => {
  const fresh = client.initIndex('v4_fresh');
  const found = await fresh.findObject((hit) => hit.name === 'Harold Kim', { query: '' });
  assert.equal(found.object.objectID, '3');
  assert.equal(fresh.getObjectPosition(await fresh.search('kim'), '3'), 0);
});

const known = client.initIndex('v4_known');
const knownCopy = client.initIndex('v4_known_copy');
const synonyms = [
  { objectID: 's1', type: 'synonym', synonyms: ['paint', 'colour'] },
  { objectID: 's2', type: 'altCorrection1', word: 'presse', corrections: ['press'] },
];
const rules = ['r1', 'r2', 'r3'].map((objectID) => ({
  objectID,
  conditions: [{ pattern: `offer ${objectID}`, anchoring: 'contains' }],
  consequence: { params: { filters: 'city:Oslo' } },
}));
const browsed = async (browse) => {
  const found = [];
  await browse({ batch: (hits) => found.push(...hits.map((hit) => hit.objectID)) });
  return found;
};

step('synonyms: save, get, search, browse, copy, replace, clear', async () => {
  await known.saveSynonyms(synonyms, { forwardToReplicas: true }).wait();
  await known.saveSynonym({ objectID: 's3', type: 'placeholder', placeholder: '<street>', replacements: ['1', '2'] }).wait();
  assert.deepEqual(await known.getSynonym('s2'), synonyms[1]);
  const found = await known.searchSynonyms('paint', { type: 'synonym,altCorrection1' });
  assert.deepEqual([found.nbHits, found.hits[0].objectID], [1, 's1']);
  assert.deepEqual(await browsed((options) => known.browseSynonyms(options)), ['s3', 's2', 's1']);
  await client.copySynonyms('v4_known', 'v4_known_copy').wait();
  await known.deleteSynonym('s3').wait();
  await known.replaceAllSynonyms([synonyms[0]]).wait();
  assert.equal((await known.searchSynonyms('')).nbHits, 1);
  assert.equal((await knownCopy.searchSynonyms('')).nbHits, 3);
  await knownCopy.clearSynonyms().wait();
  assert.equal((await knownCopy.searchSynonyms('')).nbHits, 0);
  await assert.rejects(known.getSynonym('s3'), (error) => error.status === 404);
});

step('rules: save, get, search, browse, copy, replace, clear', async () => {
  await known.saveRules(rules).wait();
  await known.saveRule({ ...rules[0], objectID: 'r4' }).wait();
  assert.deepEqual(await known.getRule('r2'), rules[1]);
  const found = await known.searchRules('r2', { hitsPerPage: 5 });
  assert.deepEqual([found.nbHits, found.hits[0].objectID], [1, 'r2']);
  assert.deepEqual(await browsed((options) => known.browseRules(options)), ['r4', 'r3', 'r2', 'r1']);
  await client.copyRules('v4_known', 'v4_known_copy').wait();
  await known.deleteRule('r4').wait();
  await known.replaceAllRules([rules[2]]).wait();
  assert.equal((await known.searchRules('')).nbHits, 1);
  assert.equal((await knownCopy.searchRules('')).nbHits, 4);
  await knownCopy.clearRules().wait();
  assert.equal((await knownCopy.searchRules('')).nbHits, 0);
  await assert.rejects(known.saveRule({ objectID: 'x', consequence: { hide: 1 } }), (error) => error.status === 400);
});

step('replicas: link, sort, forward, unlink, delete', async () => {
  const [shop, young, fresh] = ['v4_shop', 'v4_shop_young', 'v4_shop_fresh'].map((name) => client.initIndex(name));
  const replicas = ['v4_shop_young', 'virtual(v4_shop_fresh)'];
  await shop.setSettings({ customRanking: ['desc(age)'], replicas }).wait();
  await shop.saveObjects(people).wait();
  await young.setSettings({ ranking: ['asc(age)', 'typo', 'words'] }).wait();
  await fresh.setSettings({ customRanking: ['asc(age)'] }).wait();
  assert.equal((await young.getSettings()).primary, 'v4_shop');
  // what a menu that sorts sends: the same query to another name
  const queries = [shop, young, fresh].map(({ indexName }) => ({ indexName, query: '', params: { hitsPerPage: 2 } }));
  const { results } = await client.multipleQueries(queries);
  assert.deepEqual(results.map(({ hits }) => hits.map((hit) => hit.age)), [[45, 45], [28, 31], [28, 31]]);

  await shop.setSettings({ searchableAttributes: ['name', 'city'] }, { forwardToReplicas: true }).wait();
  await shop.saveSynonyms([{ objectID: 'pair', type: 'synonym', synonyms: ['capital', 'oslo'] }], { forwardToReplicas: true }).wait();
  const hide = { objectID: 'hide', conditions: [{ pattern: 'capital', anchoring: 'is' }], consequence: { hide: [{ objectID: '3' }] } };
  await shop.saveRules([hide], { forwardToReplicas: true }).wait();
  for (const one of [shop, young, fresh]) assert.deepEqual(ids((await one.search('capital')).hits), ['1'], one.indexName);
  await shop.deleteObject('1').wait();
  assert.deepEqual(ids((await young.search('')).hits), ['2', '3', '4']);
  await shop.replaceAllObjects(people.slice(0, 2)).wait();
  for (const one of [shop, young, fresh]) assert.deepEqual(ids((await one.search('')).hits), ['1', '2'], one.indexName);

  await assert.rejects(young.saveObject({ objectID: 'x' }), (error) => error.status === 403);
  await assert.rejects(fresh.delete(), (error) => error.status === 403);
  await shop.setSettings({ replicas: [] }).wait();
  assert.deepEqual([(await young.search('')).nbHits, (await fresh.search('')).nbHits], [2, 0]);
  await young.delete().wait();
  assert.equal(await young.exists(), false);
});

step('listIndices, clearObjects and delete', async () => {
  const { items } = await client.listIndices();
  const names = items.map((item) => item.name);
  assert.ok(names.includes(index.indexName) && names.includes('v4_fresh'), names.join());
  assert.equal(items.find((item) => item.name === 'v4_fresh').entries, 4);
  await index.clearObjects().wait();
  assert.equal((await index.search('')).nbHits, 0);
  assert.equal((await index.getSettings()).customRanking[0], 'desc(age)');
  for (const name of names.filter((name) => name.startsWith('v4'))) await client.initIndex(name).delete().wait();
  assert.equal(await index.exists(), false);
});

step('errors', async () => {
  const stranger = algoliasearch(target.appId, 'not-a-key', { hosts: [{ url: `${target.host}:${target.port}`, protocol: 'http' }] });
  await assert.rejects(stranger.initIndex('any').search(''), (error) => error.status === 403);
  await assert.rejects(client.initIndex('v4_missing').search(''), (error) => error.status === 404);
  await assert.rejects(client.initIndex('v4_bad').setSettings({ searchableAttributes: 7 }), (error) => error.status === 400);
});

step('API keys and secured keys', async () => {
  const { key } = await client.addApiKey(['search'], { description: 'of a client', indexes: ['v4_keys*'], validity: 600 }).wait();
  await client.initIndex('v4_keys').saveObjects(people).wait();
  const own = (apiKey) => algoliasearch(target.appId, apiKey, { hosts: [{ url: `${target.host}:${target.port}`, protocol: 'http' }] }).initIndex('v4_keys');
  assert.equal((await own(key).search('')).nbHits, 4);
  const secured = client.generateSecuredApiKey(key, { numericFilters: ['age>40'], restrictIndices: ['v4_keys', 'v4_more'], validUntil: 2524604400 });
  assert.deepEqual(ids((await own(secured).search('')).hits), ['2', '3']);
  assert.ok(client.getSecuredApiKeyRemainingValidity(secured) > 0);
  await client.updateApiKey(key, { acl: ['search', 'browse'] }).wait();
  assert.ok((await client.listApiKeys()).keys.some((it) => it.value === key && it.acl.length === 2));
  await client.deleteApiKey(key).wait();
  await assert.rejects(own(secured).search(''), (error) => error.status === 403);
  await client.restoreApiKey(key).wait();
  assert.equal((await client.getApiKey(key)).validity, 0);
  await client.deleteApiKey(key).wait();
  await client.initIndex('v4_keys').delete().wait();
});

await report('javascript client 4');
