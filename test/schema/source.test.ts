import { describe, expect, it } from 'vitest';
import { agentFileIn } from '../../src/agent/agent-file.js';
import { parseSource } from '../../src/schema/json-file.js';
import { jsonSource, placedIn, placeIn } from '../../src/schema/source.js';
import { faultOf } from '../../src/schema/issues.js';

const JSONC = `{
  // The bakery.
  "name": "Baker", /* its
  name */ "config": {
    "prompt": "Say // hello", // not a comment before this
    "tools": [
      { "name": "a b" },
    ],
  },
}
`;

const YAML = `# The bakery.
name: Baker
config:
  prompt: |
    Say hello.
    Then wait.
  tools:
    - name: a b
`;

describe('jsonSource', () => {
  it('leaves out comments and trailing commas, and keeps what looks like them', () => {
    expect(jsonSource(JSONC, 'a.json').value).toEqual({
      name: 'Baker',
      config: { prompt: 'Say // hello', tools: [{ name: 'a b' }] },
    });
  });

  it('names the line and column of a member, or of what is around it', () => {
    const source = jsonSource(JSONC, 'a.json');
    const place = (...loc: (string | number)[]): string => placeIn(source, loc);
    expect(place('name')).toBe('a.json:3:3');
    expect(place('config', 'tools', 0)).toBe('a.json:7:7');
    expect(place('config', 'tools', 0, 'name')).toBe('a.json:7:9');
    expect(place('config', 'tools', 1, 'name')).toBe('a.json:6:5');
    expect(place('config', 'voice', 'speed')).toBe('a.json:4:11');
    expect(place()).toBe('a.json:1:1');
    expect(() => placedIn(source, throwAt)).toThrow('a.json:7:9: config.tools[0].name: no spaces');
  });

  it('takes the last of two members of a name, and __proto__ as any other, as JSON.parse does', () => {
    const text = '{"a": 1, "a": 2, "__proto__": {"b": 3}}';
    const { value } = jsonSource(text, 'a.json');
    expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
    expect(Object.hasOwn(value as object, '__proto__')).toBe(true);
    expect(value).not.toHaveProperty('b');
  });

  it.each([
    ['', 'a.json:1:1: not JSON: a value is expected'],
    ['{name: 1}', 'a.json:1:2: not JSON: '],
    ['{"a": 1\n "b": 2}', 'a.json:2:2: not JSON: a comma is expected'],
    ['{"a": 1', 'a.json:1:8: not JSON: a closing brace is expected'],
    ['[1, 2', 'not JSON: a closing bracket is expected'],
    ['{"a" 1}', 'a.json:1:6: not JSON: a colon is expected'],
    ['{"a": "x\n}', 'a.json:1:7: not JSON: the text has no closing quote'],
    ['{"a": "\\q"}', 'not JSON: there is no such escape'],
    ['{} x', 'not JSON: '],
    ['{"a": 1 /* }', 'not JSON: '],
    ['['.repeat(1_000_000), 'a.json:1:1: not JSON: it is nested too deeply'],
  ])('says what is wrong with %j', (text, words) => {
    expect(() => jsonSource(text, 'a.json')).toThrow(words);
    expect(() => jsonSource(text, 'a.json')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error);
  });
});

function throwAt(): never {
  throw faultOf(['config', 'tools', 0, 'name'], 'no spaces');
}

describe('parseSource', () => {
  it('reads YAML, with the same places', async () => {
    const source = await parseSource(YAML, 'a.yaml');
    expect(source).toMatchObject({ format: 'yaml', value: { config: { prompt: 'Say hello.\nThen wait.\n' } } });
    expect(placeIn(source, ['config', 'tools', 0, 'name'])).toBe('a.yaml:8:7');
    expect(() => agentFileIn(source)).toThrow(/a\.yaml:8:7: config\.tools\[0\]\.name: /);
  });

  it('goes by the ending of the name, then by the beginning of the text', async () => {
    expect(await parseSource('\uFEFF /* x */ {"a": 1}', 'stdin')).toMatchObject({ format: 'json', value: { a: 1 } });
    expect(await parseSource('a: 1', 'stdin')).toMatchObject({ format: 'yaml', value: { a: 1 } });
    expect(await parseSource('{a: 1}', 'x.YML')).toMatchObject({ format: 'yaml', value: { a: 1 } });
    await expect(parseSource('a: 1', 'x.jsonc')).rejects.toThrow('x.jsonc:1:1: not JSON');
  });

  it('refuses YAML with faults, or with too many aliases', async () => {
    await expect(parseSource('a: 1\na: 2', 'x.yaml')).rejects.toThrow('x.yaml:2:1: ');
    const bomb = Array.from({ length: 12 }, (_, at) =>
      at === 0 ? 'a0: &a0 [x, x]' : `a${at}: &a${at} [${`*a${at - 1}, `.repeat(9)}*a${at - 1}]`,
    );
    await expect(parseSource(bomb.join('\n'), 'x.yaml')).rejects.toThrow('x.yaml:1:1: ');
  });
});
