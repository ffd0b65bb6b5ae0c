import { type VendorAccess, vendorAccess, type VendorName, type Vendors } from '../settings/vendor-settings.js';
import { ParleyError } from '../base/errors.js';
import type { LocalModels } from './local/local-models.js';

/** What there is of one kind, by the name that settings and the command line give it. */
export interface ProviderRegistry<Entry> {
  /** The kind in errors, such as `speech-to-text`. */
  readonly kind: string;
  /** In the order of their definition. */
  readonly names: readonly string[];
  /** @throws ParleyError PROVIDER_UNKNOWN */
  entry(name: string): Entry;
  /** The error for a name that cannot be used. */
  unknown(name: string): ParleyError;
}

export function defineRegistry<Entry>(kind: string, entries: Readonly<Record<string, Entry>>): ProviderRegistry<Entry> {
  const byName = new Map(Object.entries(entries));
  const names = [...byName.keys()];
  const unknown = (name: string): ParleyError =>
    new ParleyError('PROVIDER_UNKNOWN', { kind, name, known: names.join(', ') });
  return {
    kind,
    names,
    unknown,
    entry(name) {
      const entry = byName.get(name);
      if (entry === undefined) throw unknown(name);
      return entry;
    },
  };
}

/** How a speech provider is made, and what it needs. */
export interface SpeechEntry<Provider> {
  /** The vendor whose key or address it needs; null = none. */
  readonly vendor: VendorName | null;
  /** It runs the operator's own models. */
  readonly isLocal: boolean;
  readonly make: (access: VendorAccess, models: LocalModels | null) => Provider;
}

/** A provider that comes with parley. */
export function builtIn<Provider>(make: (models: LocalModels | null) => Provider): SpeechEntry<Provider> {
  return { vendor: null, isLocal: false, make: (_, models) => make(models) };
}

/** A provider that runs the operator's own models. */
export function ofLocalModels<Provider>(make: (models: LocalModels | null) => Provider): SpeechEntry<Provider> {
  return { vendor: null, isLocal: true, make: (_, models) => make(models) };
}

export function ofVendor<Provider>(
  vendor: VendorName,
  make: (access: VendorAccess) => Provider,
): SpeechEntry<Provider> {
  return { vendor, isLocal: false, make };
}

/** What of a speech provider does not depend on the kind. */
export interface ListedProvider {
  name: string;
  /** The vendor whose key or address it needs; null = none. */
  vendor: VendorName | null;
  /** It runs the operator's own models. */
  isLocal: boolean;
}

export function listed(registry: ProviderRegistry<SpeechEntry<unknown>>): readonly ListedProvider[] {
  return registry.names.map((name) => {
    const { vendor, isLocal } = registry.entry(name);
    return { name, vendor, isLocal };
  });
}

const NO_ACCESS: VendorAccess = { apiKey: null, baseUrl: null, region: null };

/**
 * A new provider with its defaults; the caller closes it.
 * @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_NOT_CONFIGURED
 */
export function makeSpeechProvider<Provider>(
  registry: ProviderRegistry<SpeechEntry<Provider>>,
  name: string,
  { vendors, models }: { vendors: Vendors; models: LocalModels | null },
): Provider {
  const { vendor, make } = registry.entry(name);
  return make(vendor === null ? NO_ACCESS : vendorAccess(name, registry.kind, vendor, vendors), models);
}
