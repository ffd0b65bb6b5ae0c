import { languageSchema } from '../../agent/language.js';
import { ollamaUrl } from '../../settings/models.js';
import { ParleyError } from '../../base/errors.js';
import { type CatalogueEntry, providerCatalogue } from '../../providers/catalogue.js';
import { LocalModels } from '../../providers/local/local-models.js';
import { noSuchAction } from '../shared/actions.js';
import { type CommandIo, defineCommand, type FlagOptions, UsageError } from '../shared/command.js';
import { engineSettings, type EngineSettings } from '../shared/engine-settings.js';
import { localModelsOf } from '../shared/local-models.js';
import type { ProviderTrial, TrialOptions } from './trial.js';
import { type VendorName, VENDORS } from '../../settings/vendor-settings.js';

/** Remedies by error, in order; the first match applies. */
const CAUSES: readonly [fits: (error: ParleyError) => boolean, remedy: (names: Names) => string][] = [
  [hasStatus(401, 403), ({ key }) => `the key is not accepted: check ${key}`],
  [saysOf(/\bkey is not known\b/), ({ key }) => `the key is not accepted: check ${key}`],
  [hasStatus(402), () => 'the account has no credit left: top it up with the vendor'],
  [hasStatus(404), ({ address }) => `nothing of that name is there: check --model and --voice, and ${address}`],
  [hasStatus(429), () => 'too many requests for this account just now: wait a while, or ask the vendor for more'],
  [
    ({ details }) => Number(details['status']) >= 500,
    () => "the vendor's server has a fault: look at its status page, try again",
  ],
  [
    saysOf(/ENOTFOUND|EAI_AGAIN/),
    ({ address }) => `that name is not found: there is no network here, or ${address} is wrong`,
  ],
  [saysOf(/ECONNREFUSED/), ({ address }) => `nobody listens there: is the server running, and is ${address} right?`],
  [
    saysOf(/ECONNRESET|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE/),
    () => 'the network does not get through: a firewall, or none at all',
  ],
  [
    saysOf(/certificate|CERT_|self-signed/i),
    () => 'its certificate is not trusted: a proxy between, or a wrong address; NODE_EXTRA_CA_CERTS names others',
  ],
  [
    ({ code }) => code === 'PROVIDER_TIMEOUT',
    ({ address }) =>
      `it was asked and said nothing: a slow network, a vendor in trouble, or another server at ${address}`,
  ],
];

interface VendorVariables {
  apiKey?: string;
  baseUrl: string;
  region?: string;
}

/** Environment variables, or a description. */
interface Names {
  key: string;
  address: string;
}

/** The remedy for a failed test; null = the error says it all. */
export function remedyOf(error: ParleyError, vendor: VendorName | null): string | null {
  const env: VendorVariables | null = vendor === null ? null : VENDORS[vendor].env;
  const names = {
    key: env?.apiKey ?? "the model's key in the settings",
    address: env === null ? "the model's address in the settings" : [env.baseUrl, env.region ?? []].flat().join(' or '),
  };
  return CAUSES.find(([fits]) => fits(error))?.[1](names) ?? null;
}

function hasStatus(...statuses: readonly number[]): (error: ParleyError) => boolean {
  return ({ details }) => statuses.includes(Number(details['status']));
}

function saysOf(pattern: RegExp): (error: ParleyError) => boolean {
  return ({ message }) => pattern.test(message);
}

const OPTIONS = {
  kind: { type: 'string' },
  voice: { type: 'string' },
  model: { type: 'string' },
  language: { type: 'string', default: 'en-US' },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

export const providers = defineCommand({
  help: `
parley providers [list] [--json]
parley providers test NAME [--kind stt|llm|tts] [--voice ID] [--model NAME] [--language CODE] [--json]

Who can listen, think and speak: what each needs, whether it can be used here, and what it supports. Keys and addresses
come from the environment or the configuration file (docs/configuration.md).

test makes a real round trip, which the vendor may charge for, and prints how long each part took: a sentence spoken, a
sentence recognised (spoken by the embedded voice, in real time), a question answered. NAME is a provider, or the id of a
language model; where several kinds have the name, all are tried.

  --kind KIND     only this one
  --voice ID      the provider's name of a voice; default its own
  --model NAME    the provider's model of speech; default its own
  --language CODE what is spoken; default en-US. The sentence is English in any case
  --json          as JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [action = 'list', ...names] = positionals;
    const { kind } = values;
    if (kind !== undefined && kind !== 'stt' && kind !== 'llm' && kind !== 'tts')
      throw new UsageError('--kind is stt, llm or tts');
    const language = languageSchema.safeParse(values.language);
    if (!language.success) throw new UsageError('--language is none that parley knows');
    if (action === 'list' && names.length === 0) return list(await engineSettings(io), io, values.json);
    const [name] = names;
    if (action !== 'test' || name === undefined || names.length > 1)
      throw noSuchAction(action, ['list', 'test'], 'list, or test NAME?');
    const { voice = null, model = null } = values;
    return test(
      name,
      kind ?? null,
      { voiceId: voice, model, language: language.data, signal: io.signal },
      io,
      values.json,
    );
  },
});

async function list({ settings, detection }: EngineSettings, io: CommandIo, json: boolean): Promise<number> {
  const entries = await providerCatalogue(
    detection.vendors,
    { models: detection.models, ollamaAt: ollamaUrl(settings.ollamaHost) },
    new LocalModels(localModelsOf(settings)),
  );
  io.stdout.write(
    json
      ? `${JSON.stringify(entries, null, 2)}\n`
      : `${table(entries)}\nWithout a choice of the agent's own:\n${detection.choices.map((line) => `  ${line}\n`).join('')}`,
  );
  return 0;
}

const HEADS = { stt: 'Speech recognition', llm: 'Language models', tts: 'Voices' } as const;

function table(entries: readonly CatalogueEntry[]): string {
  const width = Math.max(...entries.map(({ name }) => name.length)) + 2;
  const parts = (['stt', 'llm', 'tts'] as const).map((kind) => {
    const lines = entries
      .filter((entry) => entry.kind === kind)
      .map(({ name, usable, missing, supports }) => {
        const state = usable ? 'ready' : `not here: ${missing ?? ''}`;
        return `  ${usable ? '+' : '-'} ${name.padEnd(width)}${[state, ...supports].join('; ')}\n`;
      });
    return `${HEADS[kind]}\n${lines.join('')}`;
  });
  return `${parts.join('\n')}\nparley providers test NAME tries one.\n`;
}

async function test(
  name: string,
  kind: CatalogueEntry['kind'] | null,
  about: Pick<TrialOptions, 'voiceId' | 'model' | 'language' | 'signal'>,
  io: CommandIo,
  json: boolean,
): Promise<number> {
  const { settings, detection } = await engineSettings(io);
  const { vendors, models } = detection;
  const local = new LocalModels(localModelsOf(settings));
  const { trialsOf } = await import('./trial.js');
  const trials = trialsOf(name, { ...about, vendors, models, local }).filter(
    (trial) => kind === null || trial.kind === kind,
  );
  if (trials.length === 0) {
    const known = (await providerCatalogue(vendors, { models, ollamaAt: ollamaUrl(settings.ollamaHost) })).map(
      (entry) => entry.name,
    );
    throw new ParleyError('PROVIDER_UNKNOWN', { kind: kind ?? 'speech or language', name, known: known.join(', ') });
  }
  const results: object[] = [];
  let code = 0;
  for (const trial of trials) {
    const result = await tried(trial, about.signal);
    if ('error' in result) code = 1;
    results.push(result);
    if (!json) io.stdout.write(shown(result));
  }
  if (json) io.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
  return code;
}

interface Result {
  kind: CatalogueEntry['kind'];
  name: string;
  /** Measurements and observations, in order. */
  facts: Readonly<Record<string, string | number>>;
  error?: { code: string; message: string; retryable: boolean; remedy: string | null };
}

async function tried({ kind, name, vendor, run }: ProviderTrial, signal: AbortSignal): Promise<Result> {
  const facts: Record<string, string | number> = {};
  try {
    await run((fact, value) => (facts[fact] = typeof value === 'number' ? Math.round(value) : value));
    return { kind, name, facts };
  } catch (error) {
    if (signal.aborted || !(error instanceof ParleyError)) throw error;
    const { code, message, retryable } = error;
    return { kind, name, facts, error: { code, message, retryable, remedy: remedyOf(error, vendor) } };
  }
}

function shown({ kind, name, facts, error }: Result): string {
  const lines = Object.entries(facts).map(
    ([fact, value]) => `  ${fact.padEnd(32)}${typeof value === 'number' ? `${String(value)} ms` : value}\n`,
  );
  const again = error?.retryable === true ? ' (may pass: try again)' : '';
  const remedy = error?.remedy == null ? '' : `  what to do: ${error.remedy}\n`;
  const end = error === undefined ? '' : `  failed: ${error.message} [${error.code}]${again}\n${remedy}`;
  return `${name}: ${HEADS[kind].toLowerCase()}\n${lines.join('')}${end}`;
}
