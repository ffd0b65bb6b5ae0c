import * as z from 'zod';
import { type Clock } from '../base/clock.js';
import { withTimeout } from '../base/deadlines.js';
import { ANTHROPIC_MODELS, type ModelRoutes, OPENAI_MODELS, SCRIPTED_MODEL, modelRoutes, ollamaUrl } from './models.js';
import { type AgentDefaults, EMBEDDED_DEFAULTS } from '../agent/resolve.js';
import type { Settings } from './settings.js';
import { missingOf, type Offer, type VendorName, VENDORS, type Vendors, vendorsOf } from './vendor-settings.js';

/** Access to the machine and its network. `systemProbe` in `src/net` is the real one. */
export interface Probe {
  /** GETs the JSON at an address from the settings. Rejects without a JSON reply. */
  json(url: string, signal: AbortSignal): Promise<unknown>;
  /** Whether a command is on the PATH. */
  hasCommand(name: string): Promise<boolean>;
}

export interface DetectOptions {
  /** Models of plug-ins. Default none. */
  ownModels?: readonly string[];
  probe: Probe;
  clock: Clock;
  signal: AbortSignal;
  /** Timeout of each probe, in milliseconds. Default 500. */
  deadlineMs?: number;
}

/** The result of one search, with a line to print. */
export interface Finding {
  name: string;
  found: boolean;
  /** False if it was found, but this version or these settings do not use it. */
  used: boolean;
  line: string;
}

export interface Detection {
  findings: readonly Finding[];
  /** The defaults in effect, one printable line each for vad, stt, llm and tts. */
  choices: readonly string[];
  models: ModelRoutes;
  defaults: AgentDefaults;
  vad: string;
  /** Configured vendors for languages that the embedded engines lack, in order of preference. */
  languageVendors: { stt: readonly VendorName[]; tts: readonly VendorName[] };
  /** Voice providers that can be used. */
  voiceProviders: readonly string[];
  vendors: Vendors;
}

/** The default voice activity detection, included in parley. */
export const EMBEDDED_VAD = 'silero';

/** Vendors' recognisers in order of preference: those that stream interim words first. */
const STT_ORDER: readonly VendorName[] = [
  ...(['deepgram', 'soniox', 'assemblyai', 'speechmatics', 'gladia', 'azure'] as const),
  ...(['elevenlabs', 'openai', 'talkscriber', 'whisper'] as const),
];

/** Vendors with default voices for many languages, in order of preference. */
const TTS_ORDER: readonly VendorName[] = ['elevenlabs', 'cartesia', 'azure', 'deepgram', 'rime', 'openai'];

/** Finds the providers that the machine and the settings offer, and chooses defaults. Rejects only when aborted. */
export async function detectProviders(settings: Settings, options: DetectOptions): Promise<Detection> {
  const [ollama, hasEspeak] = await Promise.all([
    findOllama(settings, options),
    within(options, () => options.probe.hasCommand('espeak-ng')).then((found) => found === true),
  ]);
  options.signal.throwIfAborted();
  const models = modelRoutes(settings, ollama ?? []);
  const vendors = vendorsOf(settings);
  const defaults: AgentDefaults = {
    ...EMBEDDED_DEFAULTS,
    llmModel: settings.llmModel ?? bestModel(settings, ollama ?? []),
    sttProvider: settings.stt ?? EMBEDDED_DEFAULTS.sttProvider,
    voiceProvider: settings.tts ?? EMBEDDED_DEFAULTS.voiceProvider,
    voiceId: settings.voiceId,
    language: settings.language,
    timezone: settings.timezone,
    maxDurationS: settings.maxDurationS,
  };
  const vad = settings.vad ?? EMBEDDED_VAD;
  const isKnown = models.has(defaults.llmModel) || options.ownModels?.includes(defaults.llmModel) === true;
  const isUsable = (name: VendorName): boolean => missingOf(name, vendors) === null;
  // An engine that the operator names serves every language.
  const languageVendors = {
    stt: settings.stt === null ? STT_ORDER.filter(isUsable) : [],
    tts: settings.tts === null ? TTS_ORDER.filter(isUsable) : [],
  };
  return {
    findings: [
      openaiFinding(settings),
      ollamaFinding(settings, ollama),
      espeakFinding(hasEspeak),
      ...vendorFindings(vendors),
    ],
    choices: [
      `voice activity: ${vad}`,
      `speech recognition: ${defaults.sttProvider}${otherLanguages(languageVendors.stt)}`,
      `language model: ${defaults.llmModel}${isKnown ? '' : ' (unknown: sessions will fail)'}`,
      `voice: ${defaults.voiceProvider}${defaults.voiceId === null ? '' : `, ${defaults.voiceId}`}${otherLanguages(languageVendors.tts)}`,
    ],
    models,
    defaults,
    vad,
    languageVendors,
    voiceProviders: [EMBEDDED_DEFAULTS.voiceProvider, ...(hasEspeak ? ['espeak-ng'] : []), ...voicesOf(vendors)],
    vendors,
  };
}

function otherLanguages(vendors: readonly string[]): string {
  return vendors.length === 0 ? '' : `; for languages that the embedded engines lack: ${vendors.join(', ')}`;
}

function bestModel(settings: Settings, ollama: readonly string[]): string {
  if (settings.openaiApiKey !== null) return 'gpt-4o-mini';
  if (settings.vendors.anthropic?.apiKey !== undefined) return ANTHROPIC_MODELS[0];
  return ollama.find((name) => !/embed/i.test(name)) ?? SCRIPTED_MODEL;
}

/** OpenAI's key enables two voice providers. */
function voicesOf(vendors: Vendors): string[] {
  const usable = (Object.keys(vendors) as VendorName[]).filter(
    (name) => missingOf(name, vendors) === null && (VENDORS[name].offers as readonly Offer[]).includes('tts'),
  );
  return usable.flatMap((name) => (name === 'openai' ? ['openai', 'openai_realtime'] : [name])).toSorted();
}

function openaiFinding(settings: Settings): Finding {
  const found = settings.openaiApiKey !== null;
  const line = found
    ? `found OPENAI_API_KEY: ${OPENAI_MODELS.join(', ')} and realtime models through ${new URL(settings.openaiBaseUrl).origin}`
    : 'no OPENAI_API_KEY';
  return { name: 'openai', found, used: found, line };
}

function ollamaFinding(settings: Settings, models: readonly string[] | null): Finding {
  const url = ollamaUrl(settings.ollamaHost);
  if (models === null) return { name: 'ollama', found: false, used: false, line: `no Ollama at ${url}` };
  const used = models.length > 0;
  const line = used
    ? `found Ollama at ${url}: ${models.join(', ')}`
    : `found Ollama at ${url}, which has no models: not used`;
  return { name: 'ollama', found: true, used, line };
}

function espeakFinding(found: boolean): Finding {
  const line = found ? 'found espeak-ng: voices of its languages' : 'no espeak-ng on the PATH: English voices only';
  return { name: 'espeak-ng', found, used: found, line };
}

/** A finding for each vendor with settings. OpenAI has its own finding. */
function vendorFindings(vendors: Vendors): Finding[] {
  return (Object.keys(vendors) as VendorName[])
    .filter((name) => name !== 'openai')
    .toSorted()
    .map((name) => {
      const missing = missingOf(name, vendors);
      const { title } = VENDORS[name];
      const line =
        missing === null ? `found ${title}: ${offersOf(name)}` : `found ${title}, not used: ${missing} is not set`;
      return { name, found: true, used: missing === null, line };
    });
}

const KINDS: Readonly<Record<Offer, (name: string) => string>> = {
  llm: () => ANTHROPIC_MODELS.join(', '),
  stt: (name) => `speech recognition "${name}"`,
  tts: (name) => `voices of "${name}"`,
};

function offersOf(name: VendorName): string {
  const { offers } = VENDORS[name];
  return offers.length === 0
    ? 'not used: this version has no adapter for it'
    : offers.map((kind) => KINDS[kind](name)).join(', ');
}

const tagsSchema = z.object({ models: z.array(z.object({ name: z.string().min(1).max(200) })).max(1_000) });

/** Names of Ollama's models; null = Ollama does not answer. */
async function findOllama(settings: Settings, options: DetectOptions): Promise<readonly string[] | null> {
  const url = `${ollamaUrl(settings.ollamaHost)}/api/tags`;
  const tags = tagsSchema.safeParse(await within(options, (signal) => options.probe.json(url, signal)));
  return tags.success ? tags.data.models.map(({ name }) => name) : null;
}

/** The result of `probe`; undefined if it fails or times out. */
async function within<T>(options: DetectOptions, probe: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const { clock, signal, deadlineMs = 500 } = options;
  try {
    return await withTimeout(clock, deadlineMs, probe, signal);
  } catch {
    return undefined;
  }
}
