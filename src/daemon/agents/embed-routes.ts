import * as z from 'zod';
import { InvalidConfigError } from '../../schema/issues.js';
import type { Access } from '../http/access.js';
import type { AgentRegistry } from './agents.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';

export interface EmbedRoutesOptions {
  agents: AgentRegistry;
  access: Access;
  /** Gateways by name. */
  regions: Readonly<Record<string, string>>;
}

/** One text for each phase of the widget. */
function phasesSchema(what: string, longest: number): z.ZodType<Phases | null | undefined> {
  const text = z.string().max(longest).nullish();
  return z.strictObject({ idle: text, connecting: text, running: text }).nullish().describe(what);
}

interface Phases {
  idle?: string | null | undefined;
  connecting?: string | null | undefined;
  running?: string | null | undefined;
}

/** An icon may be a small picture as a `data:` address. */
const ICON_CHARS = 50_000;

const embedShape = {
  titles: phasesSchema('Labels of the button.', 200),
  icons: phasesSchema('Pictures on the button: addresses, or Iconify names such as tabler:microphone.', ICON_CHARS),
  background: z.string().max(2_000).nullish().describe('CSS background of the button.'),
  buttonCss: z.string().max(10_000).nullish().describe('CSS declarations of the button.'),
  formCss: z.string().max(10_000).nullish().describe('CSS declarations of the forms that the agent opens.'),
  size: z.int().min(16).max(1_000).nullish().describe('Size of the button, CSS pixels.'),
  transcript: z.boolean().nullish().describe('Whether the widget shows the transcript.'),
  region: z.string().min(1).max(200).nullish().describe("The operator's name of a gateway. Default: this daemon."),
};
const embedSchema = z.strictObject(embedShape).meta({
  id: 'EmbedConfiguration',
  description: "The look of an agent's widget. Members that are left out get their defaults.",
});
const shownPhases = z
  .strictObject({ idle: z.string().nullable(), connecting: z.string().nullable(), running: z.string().nullable() })
  .meta({ id: 'EmbedPhases' });
const shownSchema = z
  .strictObject({
    titles: shownPhases,
    icons: shownPhases,
    background: z.string().nullable(),
    buttonCss: z.string().nullable(),
    formCss: z.string().nullable(),
    size: z.int().nullable(),
    transcript: z.boolean().nullable(),
    region: z.string().nullable(),
    name: z.string().describe("The agent's name."),
    base_url: z.string().nullable().describe('Address of the gateway of `region`; null = this daemon.'),
  })
  .meta({ id: 'StoredEmbedConfiguration' });

type Embed = z.output<typeof embedSchema>;

const params = { agent_id: z.string().min(1).max(200) };

/** The look of an agent's widget. A private key stores it; the widget reads it with a public key. */
export function embedRoutes(api: Api, { agents, access, regions }: EmbedRoutesOptions): void {
  const path = '/agents/{agent_id}/embed';
  const tag = 'agents';
  const errors = ['NOT_FOUND'] as const;

  api.add({
    id: 'setEmbed',
    method: 'POST',
    path,
    tag,
    summary: "Set the widget's look",
    params,
    errors,
    description: 'Replaces the previous configuration.',
    body: embedSchema,
    answer: success,
    examples: () => ({
      body: {
        titles: { idle: 'Talk to us', connecting: 'Connecting', running: 'Hang up' },
        icons: { idle: 'tabler:phone' },
        background: '#0b6e4f',
        size: 64,
        transcript: true,
      },
    }),
    handle: async ({ params: { agent_id: id }, body }) => {
      agents.stored(id);
      if (body.region != null && !Object.hasOwn(regions, body.region)) throw unknownRegion(regions);
      await agents.setEmbed(id, JSON.stringify(body));
      return { success: true };
    },
  });

  api.add({
    id: 'getEmbed',
    method: 'GET',
    path,
    tag,
    summary: "The widget's look",
    params,
    errors,
    description: 'Needs a private key, or a public key that allows this agent and the page of the request.',
    gate: (request) => {
      if (access.keyOf(request)?.kind === 'private') access.privateKey(request, 'read');
      else access.agent(access.publicKey(request.raw), (request.params as { agent_id: string }).agent_id);
    },
    answer: shownSchema,
    examples: () => ({
      answer: {
        titles: { idle: 'Talk to us', connecting: 'Connecting', running: 'Hang up' },
        icons: { idle: 'tabler:phone', connecting: null, running: null },
        background: '#0b6e4f',
        buttonCss: null,
        formCss: null,
        size: 64,
        transcript: true,
        region: null,
        name: 'The Crooked Fork',
        base_url: null,
      },
    }),
    handle: async ({ params: { agent_id: id } }) => {
      const embed = JSON.parse((await agents.embed(id)) ?? '{}') as Embed;
      return replyOf(embed, agents.stored(id).name, regions);
    },
  });
}

function unknownRegion(regions: Readonly<Record<string, string>>): InvalidConfigError {
  const known = Object.keys(regions).join(', ');
  const msg = known === '' ? 'This daemon has no regions; leave it out' : `Input should be one of: ${known}`;
  return new InvalidConfigError([{ loc: ['body', 'region'], msg, type: 'enum' }]);
}

function replyOf(embed: Embed, name: string, regions: Readonly<Record<string, string>>): z.output<typeof shownSchema> {
  const { titles, icons, size = null, transcript = null, region = null } = embed;
  const { background = null, buttonCss = null, formCss = null } = embed;
  return {
    titles: allPhases(titles),
    icons: allPhases(icons),
    background,
    buttonCss,
    formCss,
    size,
    transcript,
    region,
    name,
    base_url: region !== null && Object.hasOwn(regions, region) ? (regions[region] ?? null) : null,
  };
}

function allPhases(phases: Phases | null | undefined): z.output<typeof shownPhases> {
  const { idle = null, connecting = null, running = null } = phases ?? {};
  return { idle, connecting, running };
}
