import type { Clock } from '../../clock/clock.js';
import type { Settings } from '../../config/settings.js';
import type { Log } from '../log/log.js';
import { Exporter } from './exporter.js';
import { SessionSpans } from './session-spans.js';

/** Traces to the collector that the settings name. */
export function openTraces(
  { otlpHeaders }: Pick<Settings, 'otlpHeaders'>,
  { endpoint, clock, log }: { endpoint: string; clock: Clock; log: Log },
): SessionSpans {
  const onChange = (fault: string | null): void => {
    if (fault === null) log.write('info', 'traces: the collector takes them again');
    else log.write('warn', `traces: the collector does not take them: ${fault}`);
  };
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  return new SessionSpans(new Exporter({ url, headers: headersOf(otlpHeaders ?? ''), clock, onChange }));
}

/** `name=value,name=value`, values percent-encoded, as OTEL_EXPORTER_OTLP_HEADERS has it. */
function headersOf(text: string): Record<string, string> {
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
