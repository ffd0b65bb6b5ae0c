import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';
import { type Case, deadAir, type Outcome } from './dead-air.js';

const PAGE = packageFile('docs/failover.md');
/** Nobody has to listen to nothing for longer. */
const LONGEST_MS = 4000;

const ROWS: readonly [who: string, what: string, of: Pick<Case, 'stage' | 'fault' | 'times'>][] = [
  ['recogniser', 'hears and says nothing, once', { stage: 'stt', fault: 'stall', times: 1 }],
  ['', '… for good', { stage: 'stt', fault: 'stall', times: Infinity }],
  ['', 'gives no final words, for good', { stage: 'stt', fault: 'half', times: Infinity }],
  ['', 'cannot be had (503, or 401)', { stage: 'stt', fault: 'down', times: Infinity }],
  ['model', 'says nothing, once', { stage: 'llm', fault: 'stall', times: 1 }],
  ['', '… for good', { stage: 'llm', fault: 'stall', times: Infinity }],
  ['', 'stops in the middle, for good', { stage: 'llm', fault: 'half', times: Infinity }],
  ['', 'fails once (503)', { stage: 'llm', fault: 'down', times: 1 }],
  ['', '… for good', { stage: 'llm', fault: 'down', times: Infinity }],
  ['', 'says nothing when it should greet', { stage: 'greeting', fault: 'stall', times: Infinity }],
  ['voice', 'says nothing, once', { stage: 'tts', fault: 'stall', times: 1 }],
  ['', '… for good', { stage: 'tts', fault: 'stall', times: Infinity }],
  ['', 'stops in the middle, for good', { stage: 'tts', fault: 'half', times: Infinity }],
  ['', 'fails for good (503)', { stage: 'tts', fault: 'down', times: Infinity }],
  ['', 'refuses the key (401)', { stage: 'tts', fault: 'refused', times: Infinity }],
];

const seconds = (ms: number | null): string => (ms === null ? 'never' : (ms / 1000).toFixed(1));

/** What the caller hears after the first question: what was said of the greeting is left out. */
function heard({ said, notes, status }: Outcome, { stage }: Case): string {
  const words = said.slice(stage === 'greeting' ? 0 : 1).filter((text, at, all) => all.indexOf(text) === at);
  const first = words[0] ?? 'nothing';
  const sorry = words.some((text) => text.includes('trouble')) && !first.includes('trouble') ? ', then an apology' : '';
  const by = notes.some((note) => note.includes('-> flite')) ? ', by the embedded voice' : '';
  return `"${first}"${by}${sorry}${status === 'error' ? ', and the end' : ''}`.replace('"nothing"', 'nothing');
}

async function cells(of: Case): Promise<string[]> {
  const outcome = await deadAir(of);
  // No embedded voice at all is the operator's wish: then there is nothing to say a word with.
  if (of.embeddedVoice !== false) expect(outcome.longestMs, JSON.stringify([of, outcome])).toBeLessThan(LONGEST_MS);
  return [seconds(outcome.firstMs), seconds(outcome.longestMs), heard(outcome, of)];
}

async function table(): Promise<string> {
  const rows = [
    ['', '', 'alone: first sound', 'longest silence', 'the caller hears', 'with a second: first', 'longest'],
    ['---', '---', '--:', '--:', '---', '--:', '--:'],
  ];
  for (const [who, what, of] of ROWS) {
    const [first = '', longest = ''] = await cells({ ...of, second: true });
    rows.push([who, what, ...(await cells({ ...of, second: false })), first, longest]);
  }
  const mute: Case = { stage: 'tts', fault: 'stall', times: Infinity, second: false, embeddedVoice: false };
  rows.push(['', 'says nothing for good, `embeddedVoice` false', ...(await cells(mute)), '', '']);
  return rows.map((row) => `| ${row.join(' | ')} |`).join('\n');
}

it('is never silent for 4 s, whoever fails, as the table says (else run this with PARLEY_UPDATE_DOCS=1)', async () => {
  const page = await readFile(PAGE, 'utf8');
  const text = await table();
  const current = page.replace(
    /(<!-- silence -->\n)[^]*?(<!-- \/silence -->)/,
    (_whole, begin: string, end: string) => `${begin}\n${text}\n\n${end}`,
  );
  if (process.env['PARLEY_UPDATE_DOCS'] === '1') await writeFile(PAGE, current);
  else expect(page).toBe(current);
}, 60_000);
