// Does a page in a browser, with InstantSearch, Autocomplete and search-insights as they are published, search, recommend and report?

import { createReadStream, existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { algoliasearch } from 'algoliasearch-v5';
import { querySuggestionsClient } from 'suggestions-v5';
import { chromium } from 'playwright-core';
import { assert, report, step, target, until } from './check.mjs';

const host = { url: target.host, port: target.port, protocol: 'http', accept: 'readWrite' };
const admin = algoliasearch(target.appId, target.apiKey, { hosts: [host] });
const analytics = admin.initAnalytics({ options: { hosts: [host] } });
const index = 'page shop';
const suggestions = 'page suggestions';
const modules = fileURLToPath(new URL('node_modules/', import.meta.url));
const scripts = [
  'algoliasearch-v5/dist/lite/builds/browser.umd.js',
  'instantsearch.js/dist/instantsearch.production.min.js',
  '@algolia/autocomplete-js/dist/umd/index.production.js',
  '@algolia/autocomplete-plugin-query-suggestions/dist/umd/index.production.js',
  'search-insights/dist/search-insights.min.js',
];
const state = { problems: [], calls: [] };

/** Runs in the page, with what is set in `shop`. */
const inPage = () => {
  const { shop, instantsearch } = window;
  const client = window['algoliasearch/lite'].liteClient(shop.appId, shop.key, { hosts: [shop.host] });
  window.aa('init', { appId: shop.appId, apiKey: shop.key, host: shop.url });
  window.aa('setUserToken', 'page-user');
  const search = instantsearch({ indexName: shop.index, searchClient: client, insights: { insightsClient: window.aa } });
  const { configure, hits, refinementList, relatedProducts, frequentlyBoughtTogether, trendingItems, lookingSimilar } = instantsearch.widgets;
  const item = (hit, { html, sendEvent }) => {
    const click = () => sendEvent('click', hit, 'Product clicked');
    const buy = (event) => {
      event.stopPropagation();
      const objectData = [{ price: hit.price, quantity: 2, queryID: hit.__queryID }];
      sendEvent('conversion', hit, 'Product bought', { eventSubtype: 'purchase', objectData, currency: 'EUR' });
    };
    return html`<p class="hit" id=${`hit-${hit.objectID}`} onClick=${click}>${hit.name}<button onClick=${buy}>Buy</button></p>`;
  };
  const alike = { templates: { item: (hit, { html }) => html`<p class="of">${hit.objectID}</p>` }, objectIDs: ['lamp-1'], limit: 3 };
  search.addWidgets([
    instantsearch.connectors.connectSearchBox(() => {})({}),
    configure({ hitsPerPage: 5, clickAnalytics: true }),
    refinementList({ container: '#kinds', attribute: 'kind' }),
    hits({ container: '#hits', templates: { item } }),
    relatedProducts({ container: '#related', ...alike }),
    frequentlyBoughtTogether({ container: '#together', ...alike }),
    trendingItems({ container: '#trending', templates: alike.templates, limit: 3 }),
    lookingSimilar({ container: '#similar', ...alike }),
  ]);
  search.start();
  const plugin = window['@algolia/autocomplete-plugin-query-suggestions'].createQuerySuggestionsPlugin({
    searchClient: client,
    indexName: shop.suggestions,
    transformSource: ({ source }) => ({ ...source, onSelect: ({ item: of }) => search.setUiState({ [shop.index]: { query: of.query } }) }),
  });
  window['@algolia/autocomplete-js'].autocomplete({ container: '#search', plugins: [plugin], openOnFocus: false, detachedMediaQuery: 'none' });
};

const page = (key) => {
  const shop = { appId: target.appId, key, host, url: `http://${target.host}:${target.port}`, index, suggestions };
  const boxes = ['search', 'kinds', 'hits', 'related', 'together', 'trending', 'similar'].map((id) => `<div id="${id}"></div>`).join('');
  const before = `window.AlgoliaAnalyticsObject = 'aa'; window.aa = function () { (window.aa.queue = window.aa.queue || []).push(arguments); };
    window.aa.version = '2.17.3'; window.shop = ${JSON.stringify(shop)};`;
  const loads = scripts.map((path) => `<script src="/${path}"></script>`).join('');
  return `<!doctype html><meta charset="utf-8"><title>Shop</title>${boxes}<script>${before}</script>${loads}<script>(${inPage})();</script>`;
};

const operate = (method, path) =>
  fetch(`http://${target.host}:${target.port}${path}`, {
    method, headers: { 'x-algolia-application-id': target.appId, 'x-algolia-api-key': target.apiKey },
  }).then((answer) => answer.json());

step('a shop with suggestions and models', async () => {
  const kinds = ['lamp', 'bulb', 'desk', 'chair'];
  const objects = kinds.flatMap((kind) => [1, 2, 3, 4].map((at) => ({
    objectID: `${kind}-${at}`, name: `${['Red', 'Blue', 'Green', 'Black'][at - 1]} ${kind}`, kind, price: at * 10 + 0.5,
  })));
  const indexSettings = { attributesForFaceting: ['kind'], searchableAttributes: ['name'] };
  const { taskID } = await admin.setSettings({ indexName: index, indexSettings });
  await admin.waitForTask({ indexName: index, taskID });
  await admin.saveObjects({ indexName: index, objects, waitForTasks: true });
  await admin.saveObjects({ indexName: 'page asked', objects: [{ objectID: '1', query: 'Lamp', count: 9 }], waitForTasks: true });
  const configuring = querySuggestionsClient(target.appId, target.apiKey, 'us', { hosts: [host] });
  await configuring.createConfig({ indexName: suggestions, sourceIndices: [{ indexName: index, minHits: 1, external: ['page asked'] }] });
  const baskets = Array.from({ length: 60 }, (_, at) => (at < 12 ? ['lamp-1', 'bulb-1'] : [`desk-${1 + (at % 4)}`, `chair-${1 + (at % 3)}`]));
  const events = baskets.map((objectIDs, at) => ({
    eventType: 'conversion', eventSubtype: 'purchase', eventName: 'Bought', index, userToken: `buyer-${at}`, objectIDs,
  }));
  await admin.initInsights({ options: { hosts: [host] } }).pushEvents({ events });
  const path = `/admin/recommend/${encodeURIComponent(index)}/bought-together/build`;
  await operate('POST', path);
  await until(() => operate('GET', '/admin/recommend'), ({ models }) => models.some((of) => of.index === index && of.neighbours > 0));
  await until(() => configuring.getConfigStatus({ indexName: suggestions }), ({ isRunning }) => !isRunning);
  const { key } = await admin.addApiKey({ acl: ['search'], indexes: ['page*'] });
  await admin.waitForApiKey({ key, operation: 'add' });
  state.html = page(key);
});

step('a browser opens it', async () => {
  state.server = createServer((request, answer) => {
    const path = scripts.find((of) => request.url === `/${of}`);
    answer.setHeader('content-type', path ? 'text/javascript' : 'text/html');
    if (path && existsSync(join(modules, path))) createReadStream(join(modules, path)).pipe(answer);
    else answer.end(request.url === '/' ? state.html : '');
  });
  await new Promise((done) => state.server.listen(0, '127.0.0.1', done));
  state.folder = await mkdtemp(join(tmpdir(), 'quorate-page-'));
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'];
  const executablePath = process.env.CHROMIUM;
  state.browser = await chromium.launchPersistentContext(state.folder, { executablePath, headless: true, args });
  state.tab = await state.browser.newPage();
  state.tab.on('pageerror', (error) => state.problems.push(String(error)));
  state.tab.on('response', (answer) => {
    state.calls.push(`${answer.request().method()} ${new URL(answer.url()).pathname} ${answer.status()}`);
  });
  await state.tab.goto(`http://127.0.0.1:${state.server.address().port}/`);
  await state.tab.waitForSelector('.hit', { timeout: 20_000 });
});

step('recommendations of every widget', async () => {
  const of = async (box) => {
    await state.tab.waitForSelector(`#${box} .of`, { timeout: 20_000 });
    return state.tab.locator(`#${box} .of`).allTextContents();
  };
  assert.equal((await of('together'))[0], 'bulb-1');
  assert.ok((await of('related')).every((id) => /^lamp-|^bulb-1/.test(id)));
  assert.ok((await of('similar'))[0].startsWith('lamp-'));
  assert.equal((await of('trending')).length, 3);
});

step('a suggestion is taken, a product clicked and bought', async () => {
  const { tab } = state;
  await tab.locator('#search input').pressSequentially('lam', { delay: 60 });
  await tab.locator('.aa-Item').first().waitFor({ timeout: 20_000 });
  assert.match(await tab.locator('.aa-Item').first().innerText(), /lamp/i);
  await tab.locator('.aa-Item').first().click();
  await tab.waitForFunction(() => document.querySelectorAll('.hit').length === 4);
  const second = tab.locator('.hit').nth(1);
  state.bought = (await second.getAttribute('id')).replace('hit-', '');
  await second.click({ position: { x: 4, y: 4 } });
  await second.locator('button').click();
  await tab.waitForTimeout(500);
  assert.deepEqual(state.problems, []);
});

step('the figures say so', async () => {
  const revenue = await until(() => analytics.getRevenue({ index }), ({ currencies }) => currencies.EUR);
  const price = { 'lamp-1': 10.5, 'lamp-2': 20.5, 'lamp-3': 30.5, 'lamp-4': 40.5 }[state.bought];
  assert.equal(revenue.currencies.EUR.revenue, 2 * price);
  const { searches } = await analytics.getTopSearches({ index, clickAnalytics: true });
  const lamp = searches.find(({ search }) => search === 'lamp');
  assert.deepEqual([lamp.count, lamp.clickCount, lamp.averageClickPosition, lamp.conversionCount], [1, 1, 2, 1]);
  assert.equal((await analytics.getPurchaseRate({ index })).purchaseCount, 1);
  assert.equal((await analytics.getUsersCount({ index })).count, 1);
  assert.deepEqual((await analytics.getTopHits({ index, search: 'lamp' })).hits.length, 4);
  // what InstantSearch tells of itself when it starts is no event of the interface
  assert.deepEqual(state.calls.filter((call) => !/ (200|204)$/.test(call)), ['POST /1/events 422']);
});

step('the browser is closed', async () => {
  await state.browser?.close();
  state.server?.close();
  if (state.folder) await rm(state.folder, { recursive: true, force: true });
});

await report('javascript_page');
