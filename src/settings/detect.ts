import * as z from 'zod';
import { type Clock } from '../base/clock.js';
import { withTimeout } from '../base/deadlines.js';
import { ANTHROPIC_MODELS, type ModelRoutes, OPENAI_MODELS, SCRIPTED_MODEL, modelRoutes, ollamaUrl } from './models.js';
import { type AgentDefaults, EMBEDDED_DEFAULTS } from '../agent/resolve.js';
import type { Settings } from './settings.js';
import { missingOf, type Offer, type VendorName, VENDORS, type Vendors, vendorsOf } from './vendor-settings.js';

/** How the outside is looked at. `systemProbe` of `src/net` is the real one. */
export interface Probe {
  /** The JSON that a GET of an address of the operator's gives. Rejects when there is none. */
  json(url: string, signal: AbortSignal): Promise<unknown>;
  /** Whether a command is on the PATH. */
  hasCommand(name: string): Promise<boolean>;
}

export interface DetectOptions {
  probe: Probe;
  clock: Clock;
  signal: AbortSignal;
  /** Time that each look at the outside may take, in milliseconds. Default 500. */
  deadlineMs?: number;
}

/** Something that was looked for, with a line to print. */
export interface Finding {
  name: string;
  found: boolean;
  /** False where it was found but this version or these settings do not use it. */
  used: boolean;
  line: string;
}

export interface Detection {
  findings: readonly Finding[];
  /** What runs, one printable line for each of vad, stt, llm and tts. */
  choices: readonly string[];
  models: ModelRoutes;
  /** What an agent gets where it leaves the choice open. */
  defaults: AgentDefaults;
  vad: string;
  /** Vendors with access that serve the languages which the embedded engines lack, in the order of preference. */
  languageVendors: { stt: readonly VendorName[]; tts: readonly VendorName[] };
  /** Voice providers that can be used. */
  voiceProviders: readonly string[];
  /** Access to vendors, as far as it is set. */
  vendors: Vendors;
}

/** The voice activity detection that comes with parley. */
export const EMBEDDED_VAD = 'silero';

/** Recognisers of vendors in the order in which they are preferred: those that stream with interim words first. */
const STT_ORDER: readonly VendorName[] = [
  ...(['deepgram', 'soniox', 'assemblyai', 'speechmatics', 'gladia', 'azure'] as const),
  ...(['elevenlabs', 'openai', 'talkscriber', 'whisper'] as const),
];

/** Voices of vendors that have a default voice for many languages, in the order in which they are preferred. */
const TTS_ORDER: readonly VendorName[] = ['elevenlabs', 'cartesia', 'azure', 'deepgram', 'rime', 'openai'];

/** What there is on this machine and in these settings, and what is used of it. Rejects only when aborted. */
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
  const isUsable = (name: VendorName): boolean => missingOf(name, vendors) === null;
  // An operator who names an engine has chosen it for every language.
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
      `language model: ${defaults.llmModel}${models.has(defaults.llmModel) ? '' : ' (not known here: sessions will fail)'}`,
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

/** OpenAI's key gives two voice providers. */
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

/** What becomes of keys and addresses that are set. OpenAI has a line of its own. */
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
    ? 'no adapter for it in this version, not used'
    : offers.map((kind) => KINDS[kind](name)).join(', ');
}

const tagsSchema = z.object({ models: z.array(z.object({ name: z.string().min(1).max(200) })).max(1_000) });

/** Names of Ollama's models; null = no Ollama there. */
async function findOllama(settings: Settings, options: DetectOptions): Promise<readonly string[] | null> {
  const url = `${ollamaUrl(settings.ollamaHost)}/api/tags`;
  const tags = tagsSchema.safeParse(await within(options, (signal) => options.probe.json(url, signal)));
  return tags.success ? tags.data.models.map(({ name }) => name) : null;
}

/** The outcome of `look`, undefined when it fails or takes too long. */
async function within<T>(options: DetectOptions, look: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  const { clock, signal, deadlineMs = 500 } = options;
  try {
    return await withTimeout(clock, deadlineMs, look, signal);
  } catch {
    return undefined;
  }
}
