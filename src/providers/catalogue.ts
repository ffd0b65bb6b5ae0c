import { type ModelRoutes, OPENAI_REALTIME } from '../config/models.js';
import { missingOf, type VendorAccess, type VendorName, VENDORS, type Vendors } from '../config/vendor-settings.js';
import { LANGUAGES } from '../config/language.js';
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
  /** What it needs of the operator, variables in words; null = nothing. */
  needs: string | null;
  usable: boolean;
  /** Why it is not usable; null = it is. */
  missing: string | null;
  /** In words. */
  supports: readonly string[];
}

/** Stands in where a provider is only looked at: nothing is opened with it. */
const ANY: VendorAccess = { apiKey: 'none', baseUrl: 'http://127.0.0.1', region: 'none' };
const ALL: Vendors = Object.fromEntries(Object.keys(VENDORS).map((name) => [name, ANY]));

/** Every provider of speech and every language model that there is a route to, usable here or not. */
export async function providerCatalogue(
  vendors: Vendors,
  models: ModelRoutes,
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
  return [...stt, ...modelEntries(models), ...tts];
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
  const own = { needs: 'the program espeak-ng', usable: !isMissing, missing: isMissing ? 'not on the PATH' : null };
  return { kind: 'tts', name, supports, ...(provider instanceof EspeakTts ? own : accessOf(vendor, vendors)) };
}

/** One that runs the operator's own models: those that are there. */
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

/** Null = it names none. */
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
  const bases = [...new Set(codes.map((code) => code.split('-')[0] ?? code))];
  if (bases.length > 4) return `${String(bases.length)} languages`;
  return bases.length === 0 ? 'no language here' : bases.join(', ');
}

/** Model ids, those of one adapter and server together. */
function modelEntries(models: ModelRoutes): CatalogueEntry[] {
  const groups = new Map<string, string[]>();
  for (const [id, { provider, baseUrl }] of models) {
    const name = baseUrl === null ? provider : `${provider} at ${new URL(baseUrl).host}`;
    groups.set(name, [...(groups.get(name) ?? []), id]);
  }
  return [...groups].map(([name, ids]) => ({
    ...{ kind: 'llm', name, needs: null, usable: true, missing: null },
    supports: [...(name.startsWith(OPENAI_REALTIME) ? ['hear and speak themselves'] : []), ...ids],
  }));
}

function accessOf(vendor: VendorName | null, vendors: Vendors): Pick<CatalogueEntry, 'needs' | 'usable' | 'missing'> {
  if (vendor === null) return { needs: null, usable: true, missing: null };
  const missing = missingOf(vendor, vendors);
  return { needs: missingOf(vendor, {}), usable: missing === null, missing: missing && `${missing} is not set` };
}
