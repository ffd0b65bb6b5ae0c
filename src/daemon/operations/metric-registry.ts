/** Label values by label name. */
export type MetricLabels = Readonly<Record<string, string>>;

export interface MetricSample {
  labels?: MetricLabels;
  value: number;
}

type Type = 'counter' | 'gauge' | 'histogram' | 'summary';

interface Family {
  name: string;
  help: string;
  type: Type;
  /** The lines below its HELP and TYPE. */
  lines: () => string[];
}

/** Maximum of series of one metric. Labels must come from small sets. */
const MAX_SERIES = 1000;

/**
 * Metrics of the process in Prometheus's text format 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */
export class MetricRegistry {
  readonly #families: Family[] = [];

  /** Adds a counter. */
  counter(name: string, help: string): Counter {
    const counter = new Counter(name);
    this.#families.push({ name, help, type: 'counter', lines: () => counter.lines() });
    return counter;
  }

  /** Adds a histogram with cumulative buckets. @param bounds ascending, without infinity */
  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(name, bounds);
    this.#families.push({ name, help, type: 'histogram', lines: () => histogram.lines() });
    return histogram;
  }

  /** Adds a metric whose values are read at each scrape. */
  read(type: 'counter' | 'gauge', name: string, help: string, samples: () => readonly MetricSample[]): void {
    const lines = (): string[] => samples().map(({ labels = {}, value }) => line(name, labels, value));
    this.#families.push({ name, help, type, lines });
  }

  /** Adds a summary, read at each scrape: quantiles, and the sum and count of all observations. */
  summary(
    name: string,
    help: string,
    read: () => { quantiles: readonly MetricSample[]; sum: number; count: number },
  ): void {
    const lines = (): string[] => {
      const { quantiles, sum, count } = read();
      return [
        ...quantiles.map(({ labels = {}, value }) => line(name, labels, value)),
        line(`${name}_sum`, {}, sum),
        line(`${name}_count`, {}, count),
      ];
    };
    this.#families.push({ name, help, type: 'summary', lines });
  }

  /** All metrics. Ends with a newline, as the format requires. */
  text(): string {
    const families = this.#families.map(({ name, help, type, lines }) =>
      [
        `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
        `# TYPE ${name} ${type}`,
        ...lines(),
      ].join('\n'),
    );
    return `${families.join('\n')}\n`;
  }
}

export class Counter {
  readonly #name: string;
  readonly #series = new Series(() => ({ value: 0 }));

  constructor(name: string) {
    this.#name = name;
  }

  add(labels: MetricLabels = {}, by = 1): void {
    this.#series.of(labels).value += by;
  }

  lines(): string[] {
    return this.#series.lines((labels, { value }) => [line(this.#name, labels, value)]);
  }
}

export class Histogram {
  readonly #name: string;
  readonly #bounds: readonly number[];
  readonly #series: Series<{ counts: number[]; sum: number; count: number }>;

  constructor(name: string, bounds: readonly number[]) {
    this.#name = name;
    this.#bounds = bounds;
    this.#series = new Series(() => ({ counts: bounds.map(() => 0), sum: 0, count: 0 }));
  }

  observe(value: number, labels: MetricLabels = {}): void {
    const series = this.#series.of(labels);
    const at = this.#bounds.findIndex((bound) => value <= bound);
    if (at >= 0) series.counts[at] = (series.counts[at] ?? 0) + 1;
    series.sum += value;
    series.count++;
  }

  lines(): string[] {
    return this.#series.lines((labels, { counts, sum, count }) => {
      let below = 0;
      const buckets = this.#bounds.map((bound, at) => {
        below += counts[at] ?? 0;
        return line(`${this.#name}_bucket`, { ...labels, le: String(bound) }, below);
      });
      return [
        ...buckets,
        line(`${this.#name}_bucket`, { ...labels, le: '+Inf' }, count),
        line(`${this.#name}_sum`, labels, sum),
        line(`${this.#name}_count`, labels, count),
      ];
    });
  }
}

/** Values by their labels. */
class Series<T> {
  readonly #make: () => T;
  readonly #all = new Map<string, { labels: MetricLabels; value: T }>();

  constructor(make: () => T) {
    this.#make = make;
  }

  of(labels: MetricLabels): T {
    const key = JSON.stringify(Object.entries(labels));
    let entry = this.#all.get(key);
    if (entry === undefined) {
      entry = { labels, value: this.#make() };
      if (this.#all.size < MAX_SERIES) this.#all.set(key, entry);
    }
    return entry.value;
  }

  lines(of: (labels: MetricLabels, value: T) => string[]): string[] {
    return [...this.#all.values()].flatMap(({ labels, value }) => of(labels, value));
  }
}

function line(name: string, labels: MetricLabels, value: number): string {
  const all = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${all.length === 0 ? '' : `{${all.join(',')}}`} ${String(value)}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
