import { baseLanguage } from '../base/language.js';
import {
  ANTHROPIC_MODELS,
  type ModelRoutes,
  OPENAI_MODELS,
  OPENAI_REALTIME,
  OPENAI_REALTIME_MODELS,
} from '../settings/models.js';
import { missingOf, type VendorAccess, type VendorName, VENDORS, type Vendors } from '../settings/vendor-settings.js';
import { LANGUAGES } from '../agent/language.js';
import { LocalModels } from './local/local-models.js';
import type { LocalModel } from './local/model-facts.js';
import { sherpaMissing } from './local/sherpa-package.js';
import { STT_ENTRIES, sttProvider } from './stt/registry.js';
import type { SttProvider } from './stt/stt.js';
import { EspeakTts } from './tts/espeak.js';
import { TTS_ENTRIES, ttsProvider } from './tts/registry.js';
import type { TtsProvider } from './tts/tts.js';

/** A provider as `parley providers` shows it. */
export interface CatalogueEntry {
  kind: 'stt' | 'llm' | 'tts';
  name: string;
  /** What the operator has to supply, usually an environment variable; null = nothing. */
  needs: string | null;
  usable: boolean;
  /** Why it cannot be used; null = it can. */
  missing: string | null;
  /** Capabilities, as text. */
  supports: readonly string[];
}

/** Placeholder access for listing a provider: nothing connects with it. */
const ANY: VendorAccess = { apiKey: 'none', baseUrl: 'http://127.0.0.1', region: 'none' };
const ALL: Vendors = Object.fromEntries(Object.keys(VENDORS).map((name) => [name, ANY]));

/**
 * Every provider of speech and of language models, whether it can be used here or not.
 * @param ollamaAt base URL of Ollama, without a trailing slash
 */
export async function providerCatalogue(
  vendors: Vendors,
  { models, ollamaAt }: { models: ModelRoutes; ollamaAt: string },
  local = new LocalModels(),
): Promise<CatalogueEntry[]> {
  const [stt, tts] = await Promise.all([
    Promise.all(
      STT_ENTRIES.map((entry) => (entry.isLocal ? localEntry('stt', entry.name, local) : sttEntry(entry, vendors))),
    ),
    Promise.all(
      TTS_ENTRIES.map((entry) => (entry.isLocal ? localEntry('tts', entry.name, local) : ttsEntry(entry, vendors))),
    ),
  ]);
  return [...stt, ...modelEntries(models, ollamaAt), ...tts];
}

async function sttEntry({ name, vendor }: (typeof STT_ENTRIES)[number], vendors: Vendors): Promise<CatalogueEntry> {
  const provider = sttProvider(name, ALL);
  const supports = sttAbilities(provider);
  await provider.close();
  return { kind: 'stt', name, supports, ...accessOf(vendor, vendors) };
}

function sttAbilities({ abilities = {}, virtualTime }: SttProvider): string[] {
  const { understands } = abilities;
  const known = understands === undefined ? null : LANGUAGES.filter((code) => code !== 'multi' && understands(code));
  return [
    languagesOf(known),
    ...(abilities.multilingual === true ? ['several at once'] : []),
    ...(abilities.models === true ? ['models'] : []),
    ...(virtualTime ? ['virtual time'] : []),
  ];
}

async function ttsEntry(
  { name, vendor, closed }: (typeof TTS_ENTRIES)[number],
  vendors: Vendors,
): Promise<CatalogueEntry> {
  if (closed !== null) return { kind: 'tts', name, needs: null, usable: false, missing: closed, supports: [] };
  const provider = ttsProvider(name, ALL);
  const supports = await voiceAbilities(provider);
  await provider.close();
  const isMissing = provider instanceof EspeakTts && !provider.available;
  const access =
    provider instanceof EspeakTts
      ? { needs: 'the program espeak-ng', usable: !isMissing, missing: isMissing ? 'not on the PATH' : null }
      : accessOf(vendor, vendors);
  return { kind: 'tts', name, supports, ...access };
}

/** An entry for a provider that runs local models: lists the models that are installed. */
async function localEntry(kind: 'stt' | 'tts', name: string, local: LocalModels): Promise<CatalogueEntry> {
  const models = (await local.list()).models.filter((model) => model.kind === kind);
  const missing = sherpaMissing() ?? (models.length === 0 ? 'there is no model of it (parley models pull NAME)' : null);
  const needs = 'a model on this machine';
  return { kind, name, needs, usable: missing === null, missing, supports: models.map(modelWords) };
}

function modelWords({ name, languages }: LocalModel): string {
  return languages === null ? name : `${name} (${languagesOf(languages)})`;
}

async function voiceAbilities(provider: TtsProvider): Promise<string[]> {
  return [
    languagesOf(await spokenBy(provider)),
    provider.wordTimes === true ? "words' own times" : "words' times estimated",
    ...(provider.hasModels === true ? ['models'] : []),
    ...(provider.virtualTime ? ['virtual time'] : []),
  ];
}

/** Null = the provider does not name its languages. */
async function spokenBy(provider: TtsProvider): Promise<readonly string[] | null> {
  if (provider.speaks === undefined) return null;
  const codes = LANGUAGES.filter((code) => code !== 'multi');
  try {
    const spoken = await Promise.all(codes.map((code) => provider.speaks?.(code) ?? Promise.resolve(false)));
    return codes.filter((_, index) => spoken[index]);
  } catch {
    return [];
  }
}

function languagesOf(codes: readonly string[] | null): string {
  if (codes === null) return 'any language';
  const bases = [...new Set(codes.map(baseLanguage))];
  if (bases.length > 4) return `${String(bases.length)} languages`;
  return bases.length === 0 ? 'no language here' : bases.join(', ');
}

/** Model ids grouped by adapter and server, followed by the kinds of model that are not set up and what they need. */
function modelEntries(models: ModelRoutes, ollamaAt: string): CatalogueEntry[] {
  const groups = new Map<string, { provider: string; baseUrl: string | null; ids: string[] }>();
  for (const [id, { provider, baseUrl }] of models) {
    const name = baseUrl === null ? provider : `${provider} at ${new URL(baseUrl).host}`;
    const group = groups.get(name) ?? { provider, baseUrl, ids: [] };
    group.ids.push(id);
    groups.set(name, group);
  }
  const usable = [...groups].map(([name, { provider, ids }]): CatalogueEntry => ({
    kind: 'llm',
    name,
    needs: null,
    usable: true,
    missing: null,
    supports: supportsOf(provider, ids),
  }));
  const found = [...groups.values()];
  const isOwn = ({ provider, baseUrl, ids }: (typeof found)[number]): boolean =>
    provider === 'openai' && !ids.includes(OPENAI_MODELS[0]) && baseUrl !== `${ollamaAt}/v1`;
  const absent: (CatalogueEntry | false)[] = [
    !models.has(OPENAI_MODELS[0]) && keyless('openai', OPENAI_MODELS),
    !models.has('gpt-realtime') && keyless(OPENAI_REALTIME, Object.keys(OPENAI_REALTIME_MODELS)),
    !models.has(ANTHROPIC_MODELS[0]) && keyless('anthropic', ANTHROPIC_MODELS),
    !found.some(({ baseUrl }) => baseUrl === `${ollamaAt}/v1`) && {
      kind: 'llm',
      name: 'ollama',
      needs: 'Ollama with a model',
      usable: false,
      missing: `no Ollama with a model at ${ollamaAt} (OLLAMA_HOST)`,
      supports: ['its models'],
    },
    !found.some(isOwn) && {
      kind: 'llm',
      name: 'openai-compatible',
      needs: 'an entry under models in the settings file',
      usable: false,
      missing: 'models in the settings file names none',
      supports: ['any server with chat completions'],
    },
  ];
  return [...usable, ...absent.filter((entry) => entry !== false)];
}

/** The environment variable with each vendor's key. */
const KEYS_OF: Readonly<Record<string, string>> = {
  openai: 'OPENAI_API_KEY',
  [OPENAI_REALTIME]: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
};

function keyless(name: string, ids: readonly string[]): CatalogueEntry {
  const needs = KEYS_OF[name] ?? null;
  return {
    kind: 'llm',
    name,
    needs,
    usable: false,
    missing: `${needs ?? ''} is not set`,
    supports: supportsOf(name, ids),
  };
}

function supportsOf(provider: string, ids: readonly string[]): string[] {
  return [...(provider === OPENAI_REALTIME ? ['hear and speak themselves'] : []), ...ids];
}

function accessOf(vendor: VendorName | null, vendors: Vendors): Pick<CatalogueEntry, 'needs' | 'usable' | 'missing'> {
  if (vendor === null) return { needs: null, usable: true, missing: null };
  const missing = missingOf(vendor, vendors);
  return { needs: missingOf(vendor, {}), usable: missing === null, missing: missing && `${missing} is not set` };
}
