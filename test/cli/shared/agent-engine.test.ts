import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { inFolder, parley } from '../support.js';

const AGENT = {
  name: 'Kettle Shop',
  config: {
    first_message: 'Hello.',
    llm: { model: 'scripted' },
    knowledge_base: { messages: ['One moment.'] },
    memory: { user_identifier_key: 'user' },
  },
  script: {
    slots: { question: { type: 'text' } },
    rules: [
      {
        when: '{question}',
        call: {
          tool: 'search_knowledge',
          arguments: { query: '{question}' },
          ok: { say: '{result.best}' },
          failed: { say: 'No.' },
        },
      },
    ],
  },
};

it('a typed question is answered from a file, and remembered until it is erased', { timeout: 60_000 }, async () => {
  await inFolder(async (path) => {
    await writeFile(path('agent.json'), JSON.stringify(AGENT));
    await writeFile(path('manual.md'), '# Warranty\nThe blue kettle has a warranty of three years.\n');
    await writeFile(path('broken.pdf'), 'nothing');
    const env = { PARLEY_DATA_DIR: path('data') };
    const talk = ['talk', '--text', '--agent', path('agent.json'), '--metadata', '{"user": "ann"}'];
    const stdin = ['how long is the warranty of my kettle'];
    const reported = await parley([...talk, '--knowledge', path('manual.md')], { stdin, env });
    expect(reported.err).toContain('call over: user-ended');
    expect(reported.out).toContain('One moment. The blue kettle has a warranty of three years.');
    const listed = await parley(['memories', 'list', '--user', 'ann', '--json'], { env });
    expect(JSON.parse(listed.out)).toMatchObject([
      { agentId: 'kettle-shop', user: 'ann', text: `The user said: "${stdin[0] ?? ''}"` },
    ]);
    expect((await parley(['memories', 'erase'], { env })).code).toBe(2);
    expect((await parley(['memories', 'erase', '--user', 'ann'], { env })).out).toBe('erased: 1\n');
    expect((await parley(['memories', 'list'], { env })).err).toContain('no memories');
    const broken = await parley([...talk, '--knowledge', path('broken.pdf')], { stdin, env });
    expect([broken.code, broken.err]).toEqual([
      1,
      expect.stringContaining('Cannot read broken.pdf: it is not a whole PDF'),
    ]);
  });
});
