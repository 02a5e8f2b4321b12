// How is a run judged? Steps in order, each passed or failed, the counts at the end.

import assert from 'node:assert/strict';

export { assert };

export const target = (() => {
  const url = new URL(process.env.QUORATE_URL);
  const need = (name) => {
    if (!process.env[name]) throw new Error(`${name} is not set; run tests/sdk/run`);
    return process.env[name];
  };
  return { host: url.hostname, port: Number(url.port), appId: need('QUORATE_APP_ID'), apiKey: need('QUORATE_API_KEY') };
})();

export const people = [
  { objectID: '1', name: 'Jimmie Barninger', company: 'California Paint', age: 31, city: 'Oslo', _geoloc: { lat: 59.91, lng: 10.75 } },
  { objectID: '2', name: 'Warren Speach', company: 'Norwalk Crmc', age: 45, city: 'Lyon', _geoloc: { lat: 45.76, lng: 4.84 } },
  { objectID: '3', name: 'Harold Kim', company: 'Norwalk Crmc', age: 45, city: 'Oslo', _geoloc: { lat: 59.92, lng: 10.7 } },
  { objectID: '4', name: 'Ama Paintsil', company: 'Harbour Press', age: 28, city: 'Accra', _geoloc: { lat: 5.6, lng: -0.19 } },
];

const steps = [];

/** Adds a step; steps run one after the other because later ones use what earlier ones wrote. */
export const step = (name, run) => steps.push({ name, run });

/** Asks until the answer is as wanted: figures follow events within a minute. */
export const until = async (ask, isIt) => {
  for (let tries = 0; ; tries += 1) {
    const answer = await ask();
    if (isIt(answer)) return answer;
    assert.ok(tries < 300, `not within a minute: ${JSON.stringify(answer)}`);
    await new Promise((done) => setTimeout(done, 200));
  }
};

export const ids = (hits) => hits.map((hit) => hit.objectID).sort();

/** Runs every step, prints the outcome and sets the exit code. */
export const report = async (client) => {
  let passed = 0;
  let failed = 0;
  for (const { name, run } of steps) {
    try {
      await run();
      passed += 1;
      console.log(`ok     ${client}: ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${client}: ${name}\n       ${String(error.stack ?? error).split('\n').slice(0, 12).join('\n       ')}`);
      if (error.transporterStackTrace || error.stackTrace) {
        const last = (error.transporterStackTrace ?? error.stackTrace).at(-1);
        console.log(`       ${JSON.stringify(last?.response ?? last).slice(0, 400)}`);
      }
    }
  }
  console.log(`${client}: ${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
};
