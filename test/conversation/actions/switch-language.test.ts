import { describe, expect, it } from 'vitest';
import type { Stage, StageConfig } from '../../../src/stage/stage.js';
import { listening, traces } from '../listening.js';

const ASKED = { from: 1000, to: 2200 };
const BILINGUAL: StageConfig = { switchLanguage: { languages: ['en-US', 'fr'] } };

function switching(args: Readonly<Record<string, unknown>>, config: StageConfig = BILINGUAL): Stage {
  const stage = listening(config);
  stage.model.calls([{ name: 'switch_language', args }]).says('Bien sûr.');
  stage.user.says('Can we speak French?', ASKED);
  return stage;
}

const results = (stage: Stage) =>
  stage.model.requests.at(-1)?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));

describe('switch_language', () => {
  it('is offered with the languages of the agent, where there are any', () => {
    for (const languages of [['en-US', 'fr'], [], null]) {
      const stage = listening({ switchLanguage: languages === null ? null : { languages } });
      stage.user.says('Hello, is anybody there?', ASKED);
      stage.playTo(6000);
      const tools = stage.model.requests[0]?.tools ?? [];
      expect(tools.map(({ name }) => name)).toEqual(languages?.length === 2 ? ['switch_language'] : []);
      if (tools[0] !== undefined) {
        expect(tools[0].parameters).toMatchObject({ properties: { language: { enum: languages } } });
      }
    }
  });

  it("changes the language of the built-in phrases, of the model's prompt and of how turns are judged", () => {
    const stage = switching({ language: 'fr' }, { ...BILINGUAL, inactivity: { idleMs: 5000, message: null } });
    stage.playTo(14_000);
    expect(stage.conversation.state.language).toBe('fr');
    stage.expectAgent('Bien sûr.').isHeardWhole();
    stage.expectAgent('Êtes-vous toujours là').isHeardWhole();
    expect(stage.model.requests.at(-1)?.messages[0]).toMatchObject({
      role: 'system',
      content: expect.stringContaining('it is in French now') as string,
    });
    // "Je voudrais une table pour" goes on; in English these words would be complete.
    stage.user.says('Je voudrais une table pour', { from: 20_000, to: 21_500 });
    stage.playTo(22_500);
    expect(stage.timeline.turns).toHaveLength(1);
  });

  it('asks for the languages of the session, and the event that follows is what counts', () => {
    const stage = switching({ language: 'FR' });
    stage.playTo(6000);
    const asked = stage.timeline.effects.flatMap(({ effect }) => (effect.type === 'language.switch' ? [effect] : []));
    expect(asked).toEqual([{ type: 'language.switch', callId: 'call-1', language: 'fr' }]);
    expect(results(stage)).toEqual(['Now in fr.']);
    expect(traces(stage)).toContain('language');
  });

  it.each([[{ language: 'de' }], [{}], [{ language: 5 }], [{ language: 'klingon' }]])(
    'refuses %j, and the conversation goes on as it was',
    (args) => {
      const stage = switching(args);
      stage.playTo(8000);
      expect(stage.conversation.state.language).toBeNull();
      expect(results(stage)).toEqual([expect.stringMatching(/^Not changed: .*en-US, fr/)]);
      stage.expectAgent('Bien sûr.').isHeardWhole();
    },
  );

  it('says so where the language is spoken already', () => {
    const stage = switching({ language: 'en' });
    stage.playTo(8000);
    expect(results(stage)).toEqual([expect.stringMatching(/in American English already|English.* already/)]);
  });

  it('is plain data: a conversation that goes on from the state speaks the language', () => {
    const stage = switching({ language: 'fr' });
    stage.playTo(8000);
    const state = JSON.parse(JSON.stringify(stage.conversation.state)) as { language: string };
    expect(state.language).toBe('fr');
  });
});
