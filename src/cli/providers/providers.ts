import { languageSchema } from '../../agent/language.js';
import { ollamaUrl } from '../../settings/models.js';
import { ParleyError } from '../../base/errors.js';
import { type CatalogueEntry, providerCatalogue } from '../../providers/catalogue.js';
import { LocalModels } from '../../providers/local/local-models.js';
import { type CommandIo, defineCommand, UsageError, type Values } from '../shared/command.js';
import { ENGINE, JSON_OUTPUT, settingsOf } from '../shared/flags.js';
import type { EnginePlugin } from '../../engine/plugin.js';
import { engineSettings, type EngineSettings } from '../shared/engine-settings.js';
import { localModelsOf } from '../../daemon/local-models.js';
import type { ProviderTrial, TrialOptions } from './trial.js';
import { type VendorName, VENDORS } from '../../settings/vendor-settings.js';

/** Remedies by error, in order; the first match applies. */
const CAUSES: readonly [fits: (error: ParleyError) => boolean, remedy: (names: Names) => string][] = [
  [hasStatus(401, 403), ({ key }) => `the vendor rejects the key: check ${key}`],
  [mentions(/\brejects the API key\b/), ({ key }) => `the vendor rejects the key: check ${key}`],
  [hasStatus(402), () => 'the account has no credit left: add credit with the vendor'],
  [hasStatus(404), ({ address }) => `the vendor does not know the name: check --model and --voice, and ${address}`],
  [hasStatus(429), () => 'too many requests for this account: wait, or ask the vendor for a higher limit'],
  [
    ({ details }) => Number(details['status']) >= 500,
    () => "the vendor's server failed: check its status page, then try again",
  ],
  [
    mentions(/ENOTFOUND|EAI_AGAIN/),
    ({ address }) => `the host name cannot be resolved: check the network and ${address}`,
  ],
  [mentions(/ECONNREFUSED/), ({ address }) => `no server listens there: start it, or check ${address}`],
  [
    mentions(/ECONNRESET|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE/),
    () => 'the connection failed: check the network and the firewall',
  ],
  [
    mentions(/certificate|CERT_|self-signed/i),
    () => 'the certificate is not trusted: check for a proxy or a wrong address, or set NODE_EXTRA_CA_CERTS',
  ],
  [
    ({ code }) => code === 'PROVIDER_TIMEOUT',
    ({ address }) => `the vendor did not answer in time: check the network, its status page, and ${address}`,
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

/** The remedy for a failed test; null = the error is enough. */
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

function mentions(pattern: RegExp): (error: ParleyError) => boolean {
  return ({ message }) => pattern.test(message);
}

const LIST = { ...ENGINE, ...JSON_OUTPUT } as const;

export const providers = defineCommand({
  about: `
    Lists and tests recognisers, language models and voices; without an action, lists them. Keys and addresses come from
    the environment or the settings file (docs/configuration.md).`,
  flags: LIST,
  run: ({ values }, io) => list(values, io),
  actions: {
    list: defineCommand({
      about: 'List all providers: what each needs, whether it is ready, and what it supports.',
      flags: LIST,
      run: ({ values }, io) => list(values, io),
    }),
    test: defineCommand({
      about: `
        Make a real round trip, which the vendor may charge for, and print how long each part takes: speak a sentence,
        recognise a sentence of the embedded voice in real time, or answer a question. If several kinds have the name, all
        are tested.`,
      args: [{ name: 'NAME', help: 'a provider, or the id of a language model' }],
      flags: {
        kind: { choices: ['stt', 'llm', 'tts'], help: 'test only this kind' },
        voice: { value: 'ID', help: "the provider's name of a voice (default: its default voice)" },
        model: { value: 'NAME', help: "the provider's speech model (default: its default model)" },
        language: {
          value: 'CODE',
          default: 'en-US',
          help: 'language of the voice or recogniser; the test sentence is always English',
        },
        ...ENGINE,
        json: { help: 'print the measurements as JSON' },
      },
      async run({ values, positionals: [name = ''] }, io) {
        const { kind = null, voice = null, model = null, json } = values;
        const language = languageSchema.safeParse(values.language);
        if (!language.success)
          throw new UsageError(`--language must be a language code such as de-DE, not ${values.language}`);
        const about = { voiceId: voice, model, language: language.data, signal: io.signal };
        return test(name, kind, about, await engineSettings(io, settingsOf(values)), { io, json });
      },
    }),
  },
});

async function list(values: Values<typeof LIST>, io: CommandIo): Promise<number> {
  const { settings, detection, engine } = await engineSettings(io, settingsOf(values));
  const listed = await providerCatalogue(
    detection.vendors,
    { models: detection.models, ollamaAt: ollamaUrl(settings.ollamaHost) },
    new LocalModels(localModelsOf(settings)),
  );
  const entries = [...listed, ...pluginEntries(engine.plugins ?? [])];
  io.stdout.write(
    values.json
      ? `${JSON.stringify(entries, null, 2)}\n`
      : `${table(entries)}\nDefaults, for agents that name no provider:\n${detection.choices.map((line) => `  ${line}\n`).join('')}`,
  );
  return 0;
}

/** The providers of plug-ins. */
function pluginEntries(plugins: readonly EnginePlugin[]): CatalogueEntry[] {
  return plugins.flatMap((plugin) =>
    (['stt', 'llm', 'tts'] as const).flatMap((kind) =>
      Object.keys(plugin[kind] ?? {}).map((name): CatalogueEntry => {
        return { kind, name, needs: null, usable: true, missing: null, supports: [`plug-in ${plugin.name}`] };
      }),
    ),
  );
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
  return `${parts.join('\n')}\nTest a provider with: parley providers test NAME\n`;
}

async function test(
  name: string,
  kind: CatalogueEntry['kind'] | null,
  about: Pick<TrialOptions, 'voiceId' | 'model' | 'language' | 'signal'>,
  { settings, detection }: EngineSettings,
  { io, json }: { io: CommandIo; json: boolean },
): Promise<number> {
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
  const again = error?.retryable === true ? ' (temporary: try again)' : '';
  const remedy = error?.remedy == null ? '' : `  remedy: ${error.remedy}\n`;
  const end = error === undefined ? '' : `  failed: ${error.message} [${error.code}]${again}\n${remedy}`;
  return `${name}: ${HEADS[kind].toLowerCase()}\n${lines.join('')}${end}`;
}
