/** Every page and state that `npm run screenshots` takes a picture of. */

/** @typedef {import('playwright-core').Page} Page */
/**
 * @typedef {object} Facts What was made before pictures are taken.
 * @property {string} address of the daemon
 * @property {string} shop a page of another origin with the widget on it
 * @property {string} key a private key
 * @property {string} call a recorded call that is over
 * @property {string} failed a call that nobody answered
 * @property {string} campaign
 * @property {string} suite a test suite that has run
 * @property {string} run its latest run, with a case that fails and a comparison
 */
/**
 * @typedef {object} State
 * @property {string} name of the picture
 * @property {(facts: Facts) => string} where the address
 * @property {(page: Page) => Promise<unknown>} [before] the page is opened
 * @property {(page: Page, facts: Facts) => Promise<unknown>} [show] what is to be seen
 * @property {'phone' | 'small'} [size] beside a desktop's
 * @property {boolean} [whole] the page as far as it can be scrolled
 * @property {boolean} [fresh] of a daemon on which nothing has happened
 */

const WAIT = { timeout: 30_000 };

/** @param {string} hash */
const console_ =
  (hash) =>
  /** @param {Facts} facts */ ({ address }) =>
    `${address}/console${hash}`;
/** @param {Facts} facts */
const home = ({ address }) => `${address}/`;
/** @param {Facts} facts */
const docs = ({ address }) => `${address}/docs`;

/** @param {Facts} facts */
const suite = ({ address, suite: id }) => `${address}/console#/evals/${id}`;
/** @param {Facts} facts */
const run = ({ address, run: id }) => `${address}/console#/evals/run/${id}`;

/** An endpoint that never answers. @param {string} path */
const silent = (path) => /** @param {Page} page */ (page) => page.route(`**${path}`, () => undefined);
/** An endpoint that cannot be reached. @param {string} path */
const gone = (path) => /** @param {Page} page */ (page) => page.route(`**${path}`, (route) => route.abort());
/** @param {string} path @param {unknown} body */
const answers = (path, body) => /** @param {Page} page */ (page) =>
  page.route(`**${path}`, (route) => route.fulfill({ json: body }));
/** A microphone that is refused. @param {Page} page */
const refused = (page) =>
  page.addInitScript({
    content: `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotAllowedError'));`,
  });
/** @param {string} text */
const sees = (text) => /** @param {Page} page */ (page) => page.getByText(text).first().waitFor(WAIT);

/** Asks a question in writing and waits for the answer. @param {Page} page @param {string} field */
async function asks(page, field) {
  await page.locator(`${field}:enabled`).waitFor(WAIT);
  await page.fill(field, 'When are you open?');
  await page.press(field, 'Enter');
  await page.locator('.bubble.agent', { hasText: 'eleven' }).waitFor(WAIT);
}

/** @type {State[]} */
export const STATES = [
  { name: 'page-loading', where: home, before: silent('/page.json') },
  { name: 'page-error', where: home, before: gone('/page.json'), show: sees('does not answer') },
  { name: 'page-ready', where: home, show: (page) => page.locator('#talk:enabled').waitFor(WAIT) },
  { name: 'page-no-microphone', where: home, before: refused, show: refusal },
  { name: 'page-in-a-call', where: home, show: talks },
  { name: 'page-typed', where: home, before: refused, show: (page) => asks(page, '#text') },
  { name: 'page-typed', where: home, size: 'phone', before: refused, show: (page) => asks(page, '#text') },
  { name: 'widget-closed', where: ({ shop }) => shop, show: launcher },
  { name: 'widget-consent', where: ({ shop }) => `${shop}?consent`, show: (page) => opens(page, 'Agree and start') },
  { name: 'widget-in-a-call', where: ({ shop }) => shop, show: speaks },
  { name: 'widget-in-a-call', where: ({ shop }) => shop, size: 'phone', show: speaks },
  {
    name: 'widget-connecting',
    where: ({ shop }) => shop,
    before: unanswered,
    show: (page) => opens(page, 'Connecting'),
  },
  { name: 'widget-muted', where: ({ shop }) => shop, show: muted },
  { name: 'widget-keypad', where: ({ shop }) => shop, size: 'small', show: keypad },
  { name: 'widget-typed', where: ({ shop }) => shop, show: widgetTyped },
  { name: 'widget-ended', where: ({ shop }) => shop, show: ended },
  {
    name: 'widget-no-microphone',
    where: ({ shop }) => shop,
    before: refused,
    show: (page) => opens(page, 'Type instead'),
  },
  { name: 'widget-not-allowed', where: ({ shop }) => `${shop}?wrong`, show: (page) => opens(page, 'Try again') },
  { name: 'docs-loading', where: docs, before: silent('/openapi.json') },
  { name: 'docs-error', where: docs, before: gone('/openapi.json'), show: (page) => page.waitForTimeout(500) },
  { name: 'docs', where: docs, show: (page) => page.locator('#contents a').first().waitFor(WAIT) },
  { name: 'docs-endpoint', where: docs, show: endpoint },
  { name: 'docs', where: docs, size: 'phone', show: (page) => page.locator('.endpoint').first().waitFor(WAIT) },
  {
    name: 'console-key',
    where: console_(''),
    before: (page) => page.addInitScript({ content: 'sessionStorage.clear()' }),
  },
  { name: 'console-wrong-key', where: console_(''), before: wrongKey, show: sees('does not know this key') },
  { name: 'calls-loading', where: console_('#/calls'), before: silent('/call-logs*') },
  { name: 'calls-error', where: console_('#/calls'), before: gone('/call-logs*'), show: sees('Try again') },
  { name: 'calls-empty', where: console_('#/calls'), fresh: true, show: sees('No calls yet') },
  { name: 'calls', where: console_('#/calls'), show: (page) => page.locator('.call-row').nth(2).waitFor(WAIT) },
  {
    name: 'calls',
    where: console_('#/calls'),
    size: 'small',
    show: (page) => page.locator('.call-row').nth(2).waitFor(WAIT),
  },
  { name: 'calls-none', where: console_('#/calls?number=999'), show: sees('No calls match these filters.') },
  { name: 'call', where: ({ address, call }) => `${address}/console#/calls/${call}`, show: timeline },
  {
    name: 'call-whole',
    where: ({ address, call }) => `${address}/console#/calls/${call}`,
    show: timeline,
    whole: true,
  },
  {
    name: 'call',
    where: ({ address, call }) => `${address}/console#/calls/${call}`,
    size: 'small',
    show: timeline,
    whole: true,
  },
  { name: 'call-replay', where: ({ address, call }) => `${address}/console#/calls/${call}`, show: replay, whole: true },
  {
    name: 'call-replay',
    where: ({ address, call }) => `${address}/console#/calls/${call}`,
    size: 'small',
    show: replay,
    whole: true,
  },
  {
    name: 'call-not-connected',
    where: ({ address, failed }) => `${address}/console#/calls/${failed}`,
    show: sees('No trace'),
  },
  { name: 'call-unknown', where: console_('#/calls/nobody'), show: sees('Try again') },
  { name: 'active-empty', where: console_('#/active'), fresh: true, show: sees('No calls at the moment') },
  { name: 'active', where: console_('#/active'), before: activeCalls, show: chooses },
  { name: 'active-list', where: console_('#/active'), size: 'phone', before: activeCalls, show: sees('shouting') },
  { name: 'active', where: console_('#/active'), size: 'phone', before: activeCalls, show: chooses, whole: true },
  { name: 'live', where: console_('#/live'), show: sees('Not in a call') },
  { name: 'live-in-a-call', where: console_('#/live'), show: live },
  { name: 'live-in-a-call', where: console_('#/live'), size: 'small', show: live, whole: true },
  { name: 'live-error', where: console_('#/live'), before: gone('/page.json'), show: sees('does not answer') },
  { name: 'agents-loading', where: console_('#/agents'), before: silent('/agents') },
  { name: 'agents-empty', where: console_('#/agents'), before: answers('/agents', []), show: sees('No agents yet') },
  { name: 'agents', where: console_('#/agents'), show: (page) => page.locator('.agents li').first().waitFor(WAIT) },
  { name: 'agent', where: console_('#/agents/the-crooked-fork'), show: agent },
  { name: 'agent-faults', where: console_('#/agents/the-crooked-fork'), show: faults },
  { name: 'agent', where: console_('#/agents/the-crooked-fork'), size: 'small', show: agent },
  { name: 'evals-loading', where: console_('#/evals'), before: silent('/evals/suites*') },
  { name: 'evals-error', where: console_('#/evals'), before: gone('/evals/suites*'), show: sees('Try again') },
  { name: 'evals-empty', where: console_('#/evals'), fresh: true, show: sees('No test suites yet') },
  { name: 'evals', where: console_('#/evals'), show: sees('Front desk') },
  { name: 'evals', where: console_('#/evals'), size: 'phone', show: sees('Front desk'), whole: true },
  { name: 'evals-suite', where: suite, show: matrix, whole: true },
  { name: 'evals-suite', where: suite, size: 'phone', show: matrix, whole: true },
  { name: 'evals-suite-faults', where: suite, show: suiteFaults, whole: true },
  { name: 'evals-suite-faults', where: suite, size: 'phone', show: suiteFaults, whole: true },
  { name: 'evals-suite-running', where: suite, show: running },
  { name: 'evals-run', where: run, show: failedCase, whole: true },
  { name: 'evals-run', where: run, size: 'phone', show: failedCase, whole: true },
  { name: 'evals-run-edit', where: run, size: 'phone', show: editedCase, whole: true },
  { name: 'evals-run-unknown', where: console_('#/evals/run/nothing'), show: sees('Try again') },
  {
    name: 'call-test-case',
    where: ({ address, call }) => `${address}/console#/calls/${call}`,
    show: testCase,
    whole: true,
  },
  {
    name: 'call-test-case',
    where: ({ address, call }) => `${address}/console#/calls/${call}`,
    size: 'phone',
    show: testCase,
    whole: true,
  },
  { name: 'campaigns-empty', where: console_('#/campaigns'), fresh: true, show: sees('No campaigns yet') },
  {
    name: 'campaigns',
    where: console_('#/campaigns'),
    show: (page) => page.locator('.progress-bar').first().waitFor(WAIT),
  },
  {
    name: 'campaign',
    where: ({ address, campaign }) => `${address}/console#/campaigns/${campaign}`,
    show: progress,
    whole: true,
  },
  {
    name: 'campaign',
    where: ({ address, campaign }) => `${address}/console#/campaigns/${campaign}`,
    size: 'small',
    show: progress,
    whole: true,
  },
  { name: 'numbers-empty', where: console_('#/numbers'), fresh: true, show: sees('No numbers yet') },
  { name: 'numbers', where: console_('#/numbers'), show: (page) => page.locator('.item').first().waitFor(WAIT) },
  { name: 'numbers-error', where: console_('#/numbers'), before: gone('/phones'), show: sees('Try again') },
  { name: 'knowledge-empty', where: console_('#/knowledge'), fresh: true, show: sees('No files yet') },
  { name: 'knowledge', where: console_('#/knowledge'), show: (page) => page.locator('.item').first().waitFor(WAIT) },
  { name: 'nodes', where: console_('#/nodes'), show: (page) => page.locator('tbody tr').first().waitFor(WAIT) },
  { name: 'keys-loading', where: console_('#/keys'), before: silent('/keys') },
  { name: 'keys', where: console_('#/keys'), show: newKey },
  { name: 'keys', where: console_('#/keys'), size: 'small', show: newKey },
];

/** @param {Page} page */
async function refusal(page) {
  await page.click('#talk:enabled');
  await page.locator('#notice:not([hidden])').waitFor(WAIT);
}

/** The agent answers what was spoken. @param {Page} page */
async function talks(page) {
  await page.click('#talk:enabled');
  await page.locator('#summary:not([hidden])').waitFor(WAIT);
  await page.locator('body[data-phase="speaking"]').waitFor(WAIT);
  await page.waitForTimeout(1500);
}

/** @param {Page} page */
function launcher(page) {
  return page.locator('parley-widget .launcher').waitFor(WAIT);
}

/** @param {Page} page @param {string} text */
async function opens(page, text) {
  await page.locator('parley-widget .launcher').click();
  await page.locator('parley-widget').getByText(text).first().waitFor(WAIT);
}

/** @param {Page} page */
async function speaks(page) {
  await page.locator('parley-widget .launcher').click();
  await page.locator('parley-widget .bubble.agent').first().waitFor(WAIT);
  await page.waitForTimeout(1500);
}

/** A question about the microphone that nobody answers. @param {Page} page */
function unanswered(page) {
  return page.addInitScript({ content: 'navigator.mediaDevices.getUserMedia = () => new Promise(() => undefined);' });
}

/** @param {Page} page */
async function muted(page) {
  await speaks(page);
  await page.getByRole('button', { name: 'Mute' }).click(WAIT);
  await page.locator('.phase', { hasText: 'Muted' }).waitFor(WAIT);
}

/** @param {Page} page */
async function keypad(page) {
  await speaks(page);
  await page.getByRole('button', { name: 'Keypad' }).click(WAIT);
  await page.keyboard.type('12#');
}

/** @param {Page} page */
async function widgetTyped(page) {
  await page.locator('parley-widget .chat').click(WAIT);
  await asks(page, 'parley-widget .typing input');
}

/** @param {Page} page */
async function ended(page) {
  await speaks(page);
  await page.locator('parley-widget .launcher').click(WAIT);
  await page.locator('parley-widget .note').waitFor(WAIT);
}

/** @param {Page} page */
async function endpoint(page) {
  await page.locator('#startOutboundCall > summary').click(WAIT);
  await page.waitForTimeout(500);
}

/** @param {Page} page */
function wrongKey(page) {
  return page.addInitScript({ content: `sessionStorage.setItem('parley.key', 'sk_wrong')` });
}

/** @param {Page} page */
async function timeline(page) {
  await page.locator('.tl-lane .tl-span').first().waitFor(WAIT);
  await page.locator('.tl-waves').waitFor(WAIT);
  await page.waitForTimeout(1000);
}

/** @param {Page} page */
async function replay(page) {
  await page.locator('.replay > summary').click(WAIT);
  await page.getByLabel('Response delay').fill('1200', WAIT);
  await page.locator('.replay-turn').first().waitFor(WAIT);
}

/** @param {Page} page */
async function live(page) {
  await asks(page, '.typing input');
  await page.waitForTimeout(2500);
}

/** @param {Page} page */
async function agent(page) {
  await page.locator('#config-prompt').waitFor(WAIT);
  await page.locator('summary', { has: page.locator('code:text-is("flow")') }).click();
  await page.locator('.versions li').first().waitFor(WAIT);
}

/** @param {Page} page */
async function faults(page) {
  await page.locator('#config-prompt').waitFor(WAIT);
  await page.locator('details:has(> summary > code:text-is("llm")) > summary').click();
  await page.locator('[id="config-llm.model"]').fill('no-such-model');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('[aria-invalid]').first().waitFor(WAIT);
}

/** @param {Page} page */
function matrix(page) {
  return page.locator('.matrix td').first().waitFor(WAIT);
}

/** @param {Page} page */
async function suiteFaults(page) {
  await matrix(page);
  const text = page.locator('.editor-text');
  await text.fill((await text.inputValue()).replace('said: R101', 'sayd: R101').replace('[text]', '[smell]'));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('.editor-faults li').first().waitFor(WAIT);
}

/** @param {Page} page */
async function running(page) {
  await matrix(page);
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.locator('.eval-progress > *').first().waitFor(WAIT);
  await page.waitForTimeout(1500);
}

/** @param {Page} page */
function failedCase(page) {
  return page.locator('.eval-reason').first().waitFor(WAIT);
}

/** @param {Page} page */
async function editedCase(page) {
  await failedCase(page);
  await page.getByRole('button', { name: 'Edit this case' }).first().click();
  await page.locator('.editor-text').first().waitFor(WAIT);
}

/** @param {Page} page */
async function testCase(page) {
  await page.getByRole('button', { name: 'Make a test case' }).click(WAIT);
  await page.locator('.editor-text').waitFor(WAIT);
}

/** @param {Page} page */
async function progress(page) {
  await page.locator('.progress-bar span').first().waitFor(WAIT);
  await page.locator('.item').first().waitFor(WAIT);
}

/** @param {Page} page */
async function newKey(page) {
  await page.getByLabel('Name').fill('The shop', WAIT);
  await page.getByRole('button', { name: 'Make' }).click();
  await page.locator('.made').waitFor(WAIT);
}

/** Running calls that are none, some of which need somebody. @param {Page} page */
async function activeCalls(page) {
  /** @param {[string, object][]} events */
  const stream = (events) => ({
    contentType: 'text/event-stream',
    body: events.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
  });
  const now = Date.now() / 1000;
  const about = {
    user_muted: false,
    agent_muted: false,
    participants: [],
    tool: null,
    sentiment: null,
    median_response_ms: 590,
  };
  /** @param {number} at @param {object} activity @param {string[]} kinds */
  const call = (at, activity, kinds = []) => ({
    session_id: `s${String(at)}`,
    call_id: null,
    call_status: 'in-progress',
    channel: 'phone',
    direction: 'inbound',
    agent_id: 'the-crooked-fork',
    campaign_id: null,
    from: `+1202555015${String(at)}`,
    to: '+14155550100',
    ts: now - 31 * (at + 1),
    live: {
      ...about,
      state_since: now - at,
      turns: at,
      response_ms: 480 + 70 * at,
      topic: { tool: null, words: ['table', 'sunday'] },
      agent_said: 'For how many people?',
      warnings: kinds.map((kind) => ({ kind, since: now - 4, detail: null })),
      ...activity,
    },
  });
  const negative = { score: -0.6, label: 'negative' };
  const calls = [
    call(1, { state: 'agent_speaking', user_said: 'A table for four on Sunday, please.' }),
    call(2, { state: 'user_speaking', user_said: 'No, I said Sunday! This is ridiculous.', sentiment: negative }, [
      'shouting',
      'repeats',
    ]),
    call(3, { state: 'tool', tool: 'book_table', user_said: 'Yes please.' }),
    call(4, { state: 'thinking', user_said: 'Can I speak to a real person?' }, ['asks_for_human']),
    call(5, { state: 'held', user_said: 'All right, I will wait.' }),
  ];
  /** @type {[string, object][]} */
  const said = [
    ['transcript', { role: 'agent', text: 'The Crooked Fork, good evening.', is_final: true }],
    ['transcript', { role: 'user', text: 'Is there a table outside on Sunday?', is_final: true, turn: 1 }],
    ['transcript', { role: 'agent', text: 'I do not know that. Shall I book a table inside?', is_final: true }],
    ['transcript', { role: 'user', text: 'Can I speak to a real person?', is_final: true, turn: 2 }],
  ];
  await page.route('**/calls/live/events', (route) => route.fulfill(stream([['calls', { calls }]])));
  await page.route('**/calls/s*/events', (route) => route.fulfill(stream(said)));
}

/** The call that needs somebody most. @param {Page} page */
async function chooses(page) {
  await page.locator('.active-row').first().click();
  await page.locator('.bubble.user').nth(1).waitFor(WAIT);
}
