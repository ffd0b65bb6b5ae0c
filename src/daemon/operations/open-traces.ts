import type { Clock } from '../../base/clock.js';
import type { Settings } from '../../settings/settings.js';
import type { Log } from './log.js';
import { Exporter } from './trace-exporter.js';
import { SessionSpans } from './session-spans.js';

/** Exports traces to the collector of the settings. */
export function openTraces(
  { otlpHeaders, otlpServiceName, otlpResource }: Pick<Settings, 'otlpHeaders' | 'otlpServiceName' | 'otlpResource'>,
  { endpoint, clock, log }: { endpoint: string; clock: Clock; log: Log },
): SessionSpans {
  const onChange = (fault: string | null): void => {
    if (fault === null) log.write('info', 'traces: the collector accepts them again');
    else log.write('warn', `traces: the collector does not accept them: ${fault}`);
  };
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const resource = { ...pairsOf(otlpResource ?? ''), 'service.name': otlpServiceName };
  return new SessionSpans(new Exporter({ url, headers: pairsOf(otlpHeaders ?? ''), resource, clock, onChange }));
}

/** `name=value,name=value` with percent-encoded values: OTEL_EXPORTER_OTLP_HEADERS and OTEL_RESOURCE_ATTRIBUTES. */
function pairsOf(text: string): Record<string, string> {
  const pairs = text.split(',').filter((pair) => pair.includes('='));
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())];
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
