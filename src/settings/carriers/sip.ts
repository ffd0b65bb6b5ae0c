import * as z from 'zod';
import { passwordSchema, setting } from '../../schema/setting.js';

const PROTOCOL = '(?:udp|tcp|tls)';
const HOST = '(?:\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9][A-Za-z0-9.-]{0,252})';
const serverSchema = z
  .string()
  .regex(
    new RegExp(`^sips?:${HOST}(?::\\d{1,5})?(?:;transport=${PROTOCOL})?$`, 'i'),
    'Input should be a server such as sip:sip.example.com or sip:192.0.2.7:5060;transport=tcp',
  );
const listenSchema = z
  .string()
  .regex(
    new RegExp(`^${PROTOCOL}:(?:\\[[0-9a-fA-F:.]+\\]|[0-9.]+):\\d{1,5}$`, 'i'),
    'Input should be a protocol, an address and a port such as udp:0.0.0.0:5060',
  );
const numberSchema = z.string().regex(/^\+[1-9]\d{6,14}$/, 'Input should be a number such as +12025550123');
const addressSchema = z.ipv4().or(z.ipv6());
const networkSchema = addressSchema.or(z.cidrv4()).or(z.cidrv6());
const nameSchema = z.string().min(1).max(253);
const TRUNK_NAME = /^[a-z][a-z0-9-]{0,31}$/;
const portSchema = z.int().min(1_024).max(65_535);

/** What one trunk is. */
const trunkFields = {
  servers: setting(
    z.array(serverSchema).max(8),
    'Servers of the trunk, the most wanted first, see [SIP](sip.md); none = there is no trunk.',
  ),
  sources: setting(
    z.array(networkSchema).max(64),
    'Addresses and networks that calls come from, beside the servers. Others get no answer.',
  ),
  numbers: setting(z.array(numberSchema).max(10_000), 'The numbers of the trunk, which agents can be given.'),
  domain: setting(nameSchema.nullable(), 'Host of addresses on the trunk. Unset = that of the first server.'),
  user: setting(nameSchema.nullable(), 'Account on the trunk; its password is `sipPassword`. Unset = none.'),
  register: setting(z.boolean(), 'Whether parley registers with the first server, so that calls come to it.'),
  displayName: setting(z.string().min(1).max(80).nullable(), 'Name that is sent beside the number. Unset = none.'),
};

/** How its calls are: named trunks have it from `sip`, where they say nothing else. */
const mannerFields = {
  codecs: setting(z.array(z.enum(['PCMU', 'PCMA', 'G722', 'opus'])).min(1), 'Codecs, the most wanted first.'),
  srtp: setting(
    z.enum(['off', 'accepted', 'offered', 'required']),
    'Encrypted media (SDES-SRTP): never, if the other side asks for it, offered, or nothing else.',
  ),
  comfortNoise: setting(
    z.boolean(),
    'Whether silence is sent as comfort noise, a packet now and then, where the trunk agrees; else as packets of silence.',
  ),
  numberFormat: setting(
    z.enum(['e164', 'digits']),
    'How numbers are written to the trunk: `+12025550123`, or `12025550123`.',
  ),
  country: setting(
    z
      .string()
      .regex(/^[A-Z]{2}$/, 'Input should be a country such as US (ISO 3166-1 alpha-2)')
      .nullable(),
    'Country of numbers that come in without their country code, such as `US`. Unset = such numbers are not ours.',
  ),
  fromUser: setting(
    z.enum(['number', 'account']),
    'Who calls, in `From`: the number that calls, or the account `user`, for trunks that know an account by it.',
  ),
  identity: setting(
    z.enum(['none', 'asserted', 'preferred']),
    'The header that has the number that calls, beside `From`: none, `P-Asserted-Identity` or `P-Preferred-Identity` (RFC 3325).',
  ),
  transfer: setting(
    z.enum(['auto', 'refer', 'bridge']),
    'How calls are handed on: by REFER where the other side takes it, else over a second call; or one of them alone.',
  ),
  transferFrom: setting(
    z.enum(['number', 'caller']),
    'Who calls the target of a transfer over a second call, in `From`: our number, or the caller, with our number in ' +
      '`Diversion`. The header of `identity` has the caller in either case.',
  ),
  extensions: setting(
    z.enum(['safe', 'all']),
    "Which short user parts on the trunk's own hosts calls may be transferred to: all but emergency numbers, or `all`, " +
      'see [SIP](sip.md#handing-calls-on).',
  ),
  keepAliveS: setting(z.number().min(0).max(3_600), 'How often servers are asked whether they are there; 0 = never.', {
    unit: 's',
  }),
};

const namedTrunkSchema = z.strictObject({
  ...trunkFields,
  ...mannerFields,
  password: setting(passwordSchema.nullable(), 'Password of `user`. Unset = none.', { secret: true }),
});

/** A SIP trunk, or a PBX, and more of them by name: where calls go and come from. */
export const sipSchema = z
  .strictObject({
    ...trunkFields,
    ...mannerFields,
    listen: setting(
      z.array(listenSchema).min(1).max(8),
      'Where it listens for SIP: `udp:`, `tcp:` or `tls:`, an address, a port.',
    ),
    advertisedAddress: setting(
      addressSchema.nullable(),
      'Address of ours that the trunk reaches. Unset = that of the network interface.',
    ),
    rtpPorts: setting(
      z.tuple([portSchema, portSchema]).refine(([from, to]) => from < to, {
        error: 'Input should be two ports, the lower one first',
      }),
      'UDP ports for media, `[from, to]`: two for each call.',
    ),
    tlsCertPath: setting(nameSchema.nullable(), 'PEM file of the certificate that we show over TLS.'),
    tlsKeyPath: setting(nameSchema.nullable(), 'PEM file of its key.'),
    tlsCaPath: setting(nameSchema.nullable(), 'PEM file of authorities to trust in place of the well-known ones.'),
    tlsVerify: setting(z.boolean(), 'Whether servers must prove their names over TLS.'),
    trunks: setting(
      z.record(
        z.string().regex(TRUNK_NAME, 'Input should be a name of small letters, digits and dashes'),
        namedTrunkSchema,
      ),
      'More trunks by name: `servers`, `sources`, `numbers`, `domain`, `user`, `password`, `register` and `displayName` are ' +
        'their own; `codecs`, `srtp`, `comfortNoise`, `numberFormat`, `country`, `fromUser`, `identity`, `transfer`, ' +
        '`transferFrom`, `extensions` and `keepAliveS` those of `sip` where a trunk leaves them out; the rest is for all.',
    ),
    callers: setting(
      z.record(nameSchema, passwordSchema),
      'Phones and PBXs without a fixed address, by user name, each with its password: they may call our numbers from ' +
        'anywhere, with a proof, see [SIP](sip.md#callers-without-a-fixed-address).',
    ),
    callerAlgorithms: setting(
      z
        .array(z.enum(['SHA-256', 'MD5']))
        .min(1)
        .max(2),
      'How callers may prove themselves, the most wanted first. Some phones that know MD5 alone fail where another is offered at all.',
    ),
  })
  .superRefine(({ numbers = [], trunks = {}, servers = [], user = null, fromUser }, context) => {
    const accounts: [path: PropertyKey[], user: string | null, fromUser: string | undefined][] = [
      [['fromUser'], user, servers.length > 0 ? fromUser : undefined],
      ...Object.entries(trunks).map(([name, trunk]): [PropertyKey[], string | null, string | undefined] => [
        ['trunks', name, 'fromUser'],
        trunk.user ?? null,
        trunk.fromUser ?? fromUser,
      ]),
    ];
    for (const [path, account, wanted] of accounts) {
      if (account !== null || wanted !== 'account') continue;
      context.addIssue({ code: 'custom', path, message: '`account` needs `user`, the account that it means' });
    }
    const seen = new Set<string>();
    const places: [path: PropertyKey[], numbers: readonly string[]][] = [
      [['numbers'], numbers],
      ...Object.entries(trunks).map(([name, trunk]): [PropertyKey[], readonly string[]] => [
        ['trunks', name, 'numbers'],
        trunk.numbers ?? [],
      ]),
    ];
    for (const [path, list] of places) {
      for (const [at, number] of list.entries()) {
        if (seen.has(number)) {
          context.addIssue({
            code: 'custom',
            path: [...path, at],
            message: `${number} is in the list already: a number has one trunk`,
          });
        }
        seen.add(number);
      }
    }
  });

export type SipSettings = Required<z.infer<typeof sipSchema>>;

export const DEFAULT_SIP: SipSettings = {
  servers: [],
  sources: [],
  numbers: [],
  domain: null,
  user: null,
  register: false,
  listen: ['udp:0.0.0.0:5060'],
  advertisedAddress: null,
  rtpPorts: [16_384, 32_767],
  codecs: ['PCMU', 'PCMA'],
  srtp: 'accepted',
  comfortNoise: false,
  numberFormat: 'e164',
  country: null,
  fromUser: 'number',
  identity: 'none',
  displayName: null,
  transfer: 'auto',
  transferFrom: 'number',
  extensions: 'safe',
  keepAliveS: 60,
  tlsCertPath: null,
  tlsKeyPath: null,
  tlsCaPath: null,
  tlsVerify: true,
  trunks: {},
  callers: {},
  callerAlgorithms: ['SHA-256', 'MD5'],
};
