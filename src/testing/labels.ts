import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { z } from 'zod';
import { ParleyError } from '../errors.js';
import { parseLab } from './lab.js';
import { fixtureLabelsSchema, labelsSchema, type FixtureLabels, type Labels } from './label-format.js';
import { parseRttm } from './rttm.js';

export type { FixtureLabels, Labels } from './label-format.js';

export interface ReadLabelsOptions {
  /** Which recording of an `.rttm` file that covers several (its second column). */
  recording?: string;
}

/**
 * Reads a label file by its extension: `.json` (the project's own form), `.lab` or `.rttm`.
 * @throws ParleyError LABELS_INVALID, with the file and, where there is one, the line.
 */
export function readLabels(path: string, options: ReadLabelsOptions = {}): Labels {
  try {
    const text = readFileSync(path, 'utf8');
    switch (extname(path).toLowerCase()) {
      case '.json':
        return parseJson(text, labelsSchema);
      case '.lab':
        return parseLab(text);
      case '.rttm':
        return parseRttm(text, options.recording);
      default:
        throw new Error('the name must end in .json, .lab or .rttm');
    }
  } catch (error) {
    throw invalid(path, error);
  }
}

/**
 * Reads the labels of one of the project's own recordings.
 * @throws ParleyError LABELS_INVALID
 */
export function readFixtureLabels(path: string): FixtureLabels {
  try {
    return parseJson(readFileSync(path, 'utf8'), fixtureLabelsSchema);
  } catch (error) {
    throw invalid(path, error);
  }
}

function parseJson<T extends Labels>(text: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(JSON.parse(text));
  if (parsed.success) {
    checkTimes(parsed.data);
    return parsed.data;
  }
  const [first] = parsed.error.issues;
  throw new Error(first === undefined ? 'not labels' : `${first.path.join('.')}: ${first.message}`);
}

function checkTimes(labels: Labels): void {
  const { speech, words, pauses, digits, events, turns } = labels;
  for (const [name, spans] of Object.entries({ speech, words, pauses, digits, events, turns })) {
    for (const [index, span] of (spans ?? []).entries()) {
      if (span.endMs < span.startMs) throw new Error(`${name}.${String(index)}: ends before it starts`);
      const before = spans?.[index - 1];
      if (before !== undefined && span.startMs < before.startMs) {
        throw new Error(`${name}.${String(index)}: starts before the one before it`);
      }
    }
  }
}

function invalid(path: string, error: unknown): ParleyError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ParleyError('LABELS_INVALID', { file: path, reason }, { cause: error });
}
