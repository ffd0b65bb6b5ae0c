import { readFile, writeFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';
import { DEMO_AGENT, inFolder, parley } from './support.js';

describe('parley agents check', () => {
  it('passes a good agent, and warns of what it lacks', async () => {
    const { code, out, err } = await parley(['agents', 'check', DEMO_AGENT]);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('is valid');
    await inFolder(async (path) => {
      const agent = { $schema: 'https://example.com/agent.json', name: 'New', config: { prompt: 'You sell cake.' } };
      await writeFile(path('agent.json'), JSON.stringify(agent));
      const warned = await parley(['agents', 'check', path('agent.json')]);
      expect(warned.code).toBe(0);
      expect(warned.err).toMatch(/^.*agent\.json:1:\d+: warning: config\.llm\.model: The agent has no language model/);
    });
  });

  it('names every fault of every file', async () => {
    await inFolder(async (path) => {
      const config = { promt: 'x', langauge: 'en', voise: 1, tol: 2, flo: 3, lm: 4, first: 5 };
      await writeFile(path('typo.json'), JSON.stringify({ name: 'A', config }));
      const lost = { name: 'B', config: {}, script: { start: 'nowhere', states: {} } };
      await writeFile(path('lost.json'), JSON.stringify(lost));
      await writeFile(path('keyless.json'), JSON.stringify({ name: 'C', config: { llm: { model: 'gpt-4o' } } }));
      const files = ['typo', 'lost', 'keyless', 'gone'].map((name) => path(`${name}.json`));
      const { code, out, err } = await parley(['agents', 'check', ...files]);
      expect([code, out]).toEqual([1, '']);
      for (const field of Object.keys(config))
        expect(err).toMatch(new RegExp(`typo\\.json:1:\\d+: error: config\\.${field}: Unknown field`));
      expect(err).toMatch(/typo\.json:1:23: error: config\.promt: .*Did you mean prompt\?/);
      expect(err).toMatch(/lost\.json:1:\d+: error: script\.start: .*there is no state "nowhere"/);
      expect(err).toMatch(/keyless\.json:1:30: error: config\.llm\.model: .*"gpt-4o"/);
      expect(err).toMatch(/gone\.json: error: cannot be read/);
    });
    expect((await parley(['agents', 'check'])).code).toBe(2);
  });

  it('names the faults of each part of an agent at once, those of the schema and those of this installation', async () => {
    await inFolder(async (path) => {
      const config = {
        promt: 'x',
        llm: { model: 'gpt-4o' },
        speech_to_text: { model: 'large', multilingual: true },
        app_functions: [{ name: 'nobody' }, { name: 'get_available_meeting_slots' }],
        tools: [{ name: 'a b' }, { name: 'c', description: 'C.', params: [{ name: 7 }, { kind: 'text' }] }],
      };
      await writeFile(path('wrong.json'), JSON.stringify({ name: 'A', config }));
      const { code, err } = await parley(['agents', 'check', path('wrong.json')]);
      expect(code).toBe(1);
      const lines = err.trim().split('\n');
      expect(lines).toHaveLength(new Set(lines).size);
      for (const place of [
        'promt',
        'tools[0].name',
        'tools[0].description',
        'tools[1].params[0].name',
        'tools[1].params[1].name',
        'tools[1].params[1].kind',
        'speech_to_text.multilingual',
        'speech_to_text.model',
        'app_functions[0].name',
        'app_functions[1].credentials',
      ]) {
        expect(lines.filter((line) => line.includes(`: error: config.${place}: `))).toHaveLength(1);
      }
      expect(err).toMatch(/wrong\.json:1:\d+: error: config\.llm\.model: .*"gpt-4o"/);
      expect(lines).toHaveLength(11);
    });
  });
});

describe('parley agents check, in a file of several lines,', () => {
  const text = `{
  // The bakery.
  "name": "Baker",
  "config": {
    "voice": { "voice_id": "slr" },
    "langauge": "en-US",
  },
  "script": {
    "rules": [
      { "when": "bread", "say": "Rye." },
      { "when": "(cake", "say": "Cheesecake." },
    ],
  },
}`;

  it('names the line and column of each fault and what would be right, also of standard input and as JSON', async () => {
    const { code, out, err } = await parley(['agents', 'check', '-'], { stdin: text.split('\n') });
    expect([code, out]).toEqual([1, '']);
    const lines = err.trim().split('\n');
    expect(lines[0]).toMatch(
      /^-:5:16: error: config\.voice\.voice_id: flite has no voice "slr"\. .*Did you mean slt\?$/,
    );
    expect(lines[1]).toBe('-:6:5: error: config.langauge: Unknown field: langauge. Did you mean language?');
    expect(lines[2]).toMatch(/^-:11:9: error: script\.rules\[1\]\.when/);
    expect(lines).toHaveLength(3);
    const json = await parley(['agents', 'check', '-', '--json'], { stdin: text.split('\n') });
    expect([json.code, json.err]).toEqual([1, '']);
    expect(JSON.parse(json.out)).toEqual([
      {
        file: '-',
        name: null,
        findings: [
          expect.objectContaining({ severity: 'error', line: 5, column: 16, path: 'config.voice.voice_id' }),
          expect.objectContaining({ line: 6, column: 5, message: expect.stringContaining('language?') as string }),
          expect.objectContaining({ file: '-', line: 11, column: 9 }),
        ],
      },
    ]);
  });

  it('takes YAML, and names the place where it is none', async () => {
    await inFolder(async (path) => {
      await writeFile(
        path('good.yaml'),
        'name: Baker\nconfig:\n  llm: {model: scripted}\nscript:\n  greeting: Hello.\n',
      );
      await writeFile(path('bad.yaml'), 'name: Baker\nconfig: [\n');
      const { code, out, err } = await parley(['agents', 'check', path('good.yaml'), path('bad.yaml')]);
      expect([code, out]).toEqual([1, `${path('good.yaml')}: the agent "Baker" is valid\n`]);
      expect(err).toMatch(/bad\.yaml:3:1: error: /);
    });
  });
});

describe('parley agents schema', () => {
  it('prints a JSON Schema that the examples fit, and a misspelt field does not', async () => {
    const { code, out } = await parley(['agents', 'schema']);
    expect(code).toBe(0);
    const fits = new Ajv2020({ strict: false, validateFormats: false }).compile(JSON.parse(out) as object);
    for (const example of ['restaurant', 'reminder']) {
      const file = packageFile(`examples/${example}/agent.json`);
      const agent = JSON.parse(await readFile(file, 'utf8')) as { $schema: string; config: object };
      expect(fits(agent)).toBe(true);
      expect(fits({ ...agent, config: { ...agent.config, promt: 'x' } })).toBe(false);
      expect(JSON.parse(await readFile(new URL(agent.$schema, file), 'utf8'))).toEqual(JSON.parse(out));
    }
  });
});

describe('parley', () => {
  it('suggests a command, and explains one', async () => {
    expect((await parley(['sevre'])).err).toContain('Did you mean: parley serve?');
    expect((await parley(['zzzzzzzz'])).err).toContain('Commands: serve');
    const help = await parley(['help', 'serve']);
    expect(help).toEqual(await parley(['serve', '--help']));
    expect(help.out).toMatch(
      /\n {2}--port N {14}port to listen on; 0 = any free port \(default: 8080; or PARLEY_PORT\)\n/,
    );
  });

  it.each([
    [['serve', '--prot', '1'], 'serve', 'unknown flag --prot. Did you mean: --port?'],
    [['run', '--agnet=x'], 'run', 'unknown flag --agnet. Did you mean: --agent?'],
    [['keys', 'list', '--jsn'], 'keys', 'unknown flag --jsn. Did you mean: --json?'],
    [['doctor', '--zzzzzz'], 'doctor', 'unknown flag --zzzzzz.'],
    [['numbers', '-x'], 'numbers', 'unknown flag -x.'],
    [['calls', 'shwo', 'x'], 'calls', 'unknown action "shwo". Did you mean: show?'],
    [['keys', 'crate', 'private', '--name', 'x'], 'keys', 'unknown action "crate". Did you mean: create?'],
    [['models', 'pul', 'a'], 'models', 'unknown action "pul". Did you mean: pull?'],
    [['campaigns', 'strat', 'x'], 'campaigns', 'unknown action "strat". Did you mean: start?'],
    [['memories', 'zzzzzz'], 'memories', 'unknown action "zzzzzz"; expected list or erase'],
    [['do-not-call'], 'do-not-call', 'expected list, add or remove'],
    [['serve', '--port'], 'serve', '--port needs a value: N'],
  ])('says what is wrong with %j, and whose help to read', async (args, command, fault) => {
    const expected = `parley ${command}: ${fault}\nTry: parley ${command} --help\n`;
    expect(await parley(args)).toEqual({ code: 2, out: '', err: expected });
  });

  it('suggests a flag of its own', async () => {
    expect((await parley(['--versoin'])).err).toContain('Did you mean: parley --version?');
  });

  it('shows more than five faults of a configuration', async () => {
    const env = { PARLEY_PORT: 'x', PARLEY_VAD: '', PARLEY_PAGE: 'x', PARLEY_DRAIN_S: 'x', PARLEY_LANGUAGE: 'x' };
    const more = { PARLEY_TIMEZONE: 'x', PARLEY_LOG_LEVEL: 'x', PARLEY_METRICS: 'x' };
    const { code, err } = await parley(['serve'], { env: { ...env, ...more } });
    expect(code).toBe(1);
    expect(err).toMatch(/^parley serve: 7 faults \[CONFIG_INVALID\]\n/);
    for (const name of ['PORT', 'PAGE', 'DRAIN_S', 'LANGUAGE', 'TIMEZONE', 'LOG_LEVEL', 'METRICS']) {
      expect(err).toContain(`\n  PARLEY_${name}: `);
    }
  });
});
