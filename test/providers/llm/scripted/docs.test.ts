import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packageFile } from '../../../../src/package-files.js';
import { scriptedProvider, type AgentScriptInput } from '../../../../src/providers/llm/scripted/index.js';
import { Dialogue, END_CALL, toolNamed, type Turn } from './dialogue.js';

const page = readFileSync(packageFile('docs/agent-scripts.md'), 'utf8');

it('the worked example of docs/agent-scripts.md goes as the page says', async () => {
  const script = JSON.parse(/```json\n(.*?)```/s.exec(page)?.[1] ?? '') as AgentScriptInput;
  const dialogue = new Dialogue(scriptedProvider(script), [toolNamed('place_order'), END_CALL]);
  let turn: Turn | null = null;
  const rows = [...page.matchAll(/^\| (user|agent|tool|result) \| `?(.*?)`? \|$/gm)];
  expect(rows.length).toBeGreaterThan(15);
  for (const [, who = '', text = ''] of rows) {
    if (who === 'user') turn = await dialogue.say(text);
    else if (who === 'result') turn = await dialogue.result(text);
    else if (who === 'agent') expect(turn?.text).toBe(text);
    else expect(turn?.calls.map((call) => `${call.name} ${call.arguments}`)).toEqual([text]);
  }
  expect(turn?.calls[0]?.name).toBe('end_call');
});
