import { describe, expect, it } from 'vitest';
import { compare, shapeOf } from '../../scripts/shape.mjs';

const shape = (sources: Record<string, string>): ReturnType<typeof shapeOf> =>
  shapeOf(new Map(Object.entries(sources)));
const found = (measure: string, sources: Record<string, string>): string[] | undefined =>
  shape(sources).findings[measure];
const lines = (count: number): string => 'f();\n'.repeat(count);

describe('the shape of a tree', () => {
  it('has the number of files and their lengths', () => {
    const sources = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`a/${at}.ts`, lines(at + 1)]));
    expect(shape(sources).figures).toMatchObject({
      files: 10,
      'lines, median': 6,
      'lines, p90': 10,
      'lines, longest': 10,
    });
  });

  it('finds functions of more than 80 lines', () => {
    const file = `const f = () => {\n${lines(78)}};\n\nclass A {\n  g(): void {\n${lines(79)}  }\n}\n`;
    expect(found('functions over 80 lines', { 'a/a.ts': file })).toEqual(['a/a.ts:83 81 lines']);
  });

  it('finds spreads of literals, and no others', () => {
    const file = 'const a = {\n  ...{ b, c },\n  ...d,\n  ...(e && { f }),\n  g: [...[h]],\n};\n';
    expect(found('literal spreads', { 'a.ts': file })).toEqual(['a.ts:2', 'a.ts:5']);
  });

  it('finds cycles of files, by types too', () => {
    const sources = {
      'a/a.ts': "import type { B } from './b.js';",
      'a/b.ts': "export { c } from './c.js';",
      'a/c.ts': "import { a } from './a.js';\nimport { d } from './d.js';",
      'a/d.ts': "import { readFileSync } from 'node:fs';",
    };
    expect(found('files in import cycles', sources)).toEqual([
      'a/a.ts with a/b.ts, a/c.ts',
      'a/b.ts with a/a.ts, a/c.ts',
      'a/c.ts with a/a.ts, a/b.ts',
    ]);
  });

  it('finds cycles of folders beside each other; a folder and what it holds may know each other', () => {
    const between = {
      'a/x/one.ts': "import { two } from '../y/two.js';",
      'a/y/two.ts': '',
      'a/y/three.ts': "import { four } from '../x/four.js';",
      'a/x/four.ts': '',
    };
    expect(found('folders in import cycles', between)).toEqual(['a/x with a/y', 'a/y with a/x']);
    const within = {
      'a/one.ts': "import { two } from './y/two.js';",
      'a/y/two.ts': '',
      'a/y/three.ts': "import { four } from '../four.js';",
      'a/four.ts': '',
    };
    expect(found('folders in import cycles', within)).toEqual([]);
  });

  it('finds names that two files export for types of their own', () => {
    const sources = {
      'a.ts': 'export interface Row {}\nexport class Kept {}\ninterface Own {}',
      'b.ts': "type Row = number;\ntype Own = 1;\nexport { type Row };\nexport type { Kept } from './a.js';",
    };
    expect(found('type names exported twice', sources)).toEqual(['Row: a.ts, b.ts']);
  });

  it('finds names that the field has a better one for', () => {
    const sources = { 'workshop.ts': 'interface Told {}\nfunction openElsewhere() {}\ntype Telling = 1;' };
    expect(found('old names', sources)).toEqual(['workshop.ts', 'workshop.ts:1 Told', 'workshop.ts:2 openElsewhere']);
  });
});

it('fails what is above its budget, and asks for a lower budget for what is below', () => {
  const figures = { files: 900, spreads: 3, cycles: 1, names: 2 };
  expect(compare(figures, { spreads: 2, cycles: 2, names: 2 })).toEqual({ over: ['spreads'], under: ['cycles'] });
});
