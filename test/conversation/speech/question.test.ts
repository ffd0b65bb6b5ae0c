import { expect, it } from 'vitest';
import { listening } from '../listening.js';

it('tells the recogniser what the agent asks for, from the question on until it says something else', () => {
  const stage = listening({ speculation: { enabled: false } });
  stage.model.stalls();
  stage.user.says('A table, please.', { from: 1000, to: 2000 });
  stage.playTo(3000);
  const requestId = stage.model.requests[0]?.requestId ?? 0;
  expect(stage.conversation.state.expected).toBeNull();
  stage.send({ type: 'llm.text', requestId, text: 'With pleasure. For how many people?' }, { at: 3000 });
  stage.send({ type: 'llm.done', requestId }, { at: 3000 });
  stage.playTo(12_000);
  expect(stage.conversation.state.expected).toBe('number');
  stage.user.says('Four.', { from: 12_000, to: 12_600 });
  stage.playTo(12_700);
  expect(stage.conversation.state.expected).toBe('number');
  stage.playTo(20_000);
  stage.expectAgent('All right.').isHeardWhole();
  expect(stage.conversation.state.expected).toBeNull();
});
