import * as z from 'zod';
import { passwordSchema, setting } from '../../schema/field.js';

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

/** Fields that identify one trunk. */
const trunkFields = {
  servers: setting(
    z.array(serverSchema).max(8),
    'Servers of the trunk in order of preference, see [SIP](sip.md); none = no trunk.',
  ),
  sources: setting(
    z.array(networkSchema).max(64),
    'Addresses and networks that may send calls, in addition to the servers. Others get no answer.',
  ),
  numbers: setting(z.array(numberSchema).max(10_000), 'Phone numbers of the trunk, which agents can use.'),
  domain: setting(nameSchema.nullable(), 'Host in SIP addresses on the trunk. Unset = the host of the first server.'),
  user: setting(nameSchema.nullable(), 'Account on the trunk; its password is `sipPassword`. Unset = none.'),
  register: setting(z.boolean(), 'Whether to register with the first server, to receive calls.'),
  displayName: setting(z.string().min(1).max(80).nullable(), 'Display name of the caller. Unset = none.'),
};

/** Options of a trunk's calls. A named trunk inherits those that it leaves out from `sip`. */
const callFields = {
  codecs: setting(z.array(z.enum(['PCMU', 'PCMA', 'G722', 'opus'])).min(1), 'Codecs in order of preference.'),
  srtp: setting(
    z.enum(['off', 'accepted', 'offered', 'required']),
    'Encrypted media (SDES-SRTP): never, if the other side offers it, offered by us too, or required.',
  ),
  comfortNoise: setting(
    z.boolean(),
    'Whether to send comfort noise in silence (an occasional packet), if the trunk supports it; otherwise packets of ' +
      'silence.',
  ),
  numberFormat: setting(
    z.enum(['e164', 'digits']),
    'Format of numbers sent to the trunk: `+12025550123` (`e164`) or `12025550123` (`digits`).',
  ),
  country: setting(
    z
      .string()
      .regex(/^[A-Z]{2}$/, 'Input should be a country such as US (ISO 3166-1 alpha-2)')
      .nullable(),
    'Country of incoming numbers without a country code, such as `US`. Unset = such numbers match none of ours.',
  ),
  fromUser: setting(
    z.enum(['number', 'account']),
    'User part of `From`: the calling number, or the account `user`, for trunks that identify accounts by it.',
  ),
  identity: setting(
    z.enum(['none', 'asserted', 'preferred']),
    'Header with the calling number in addition to `From`: none, `P-Asserted-Identity` or `P-Preferred-Identity` ' +
      '(RFC 3325).',
  ),
  transfer: setting(
    z.enum(['auto', 'refer', 'bridge']),
    'How to transfer calls: by REFER (`refer`), over a second call (`bridge`), or by REFER if the other side supports it ' +
      'and otherwise over a second call (`auto`).',
  ),
  transferFrom: setting(
    z.enum(['number', 'caller']),
    'Caller in `From` of the second call of a transfer: our number, or the original caller, with our number in ' +
      '`Diversion`. The header of `identity` names the original caller in either case.',
  ),
  extensions: setting(
    z.enum(['safe', 'all']),
    "Short user parts on the trunk's own hosts that calls may be transferred to: all but emergency numbers (`safe`), or " +
      '`all`, see [SIP](sip.md#transfers).',
  ),
  keepAliveS: setting(z.number().min(0).max(3_600), 'Interval of OPTIONS requests that check servers; 0 = none.', {
    unit: 's',
  }),
};

const namedTrunkSchema = z.strictObject({
  ...trunkFields,
  ...callFields,
  password: setting(passwordSchema.nullable(), 'Password of `user`. Unset = none.', { secret: true }),
});

/** One unnamed SIP trunk or PBX, and further ones by name. */
export const sipSchema = z
  .strictObject({
    ...trunkFields,
    ...callFields,
    listen: setting(
      z.array(listenSchema).min(1).max(8),
      'Sockets to listen on for SIP: `udp:`, `tcp:` or `tls:`, an address, a port.',
    ),
    advertisedAddress: setting(
      addressSchema.nullable(),
      'Our address as the trunk reaches it. Unset = the address of the network interface.',
    ),
    rtpPorts: setting(
      z.tuple([portSchema, portSchema]).refine(([from, to]) => from < to, {
        error: 'Input should be two ports, the lower one first',
      }),
      'UDP port range for media, `[from, to]`; each call uses two ports.',
    ),
    tlsCertPath: setting(nameSchema.nullable(), 'PEM file with our TLS certificate.'),
    tlsKeyPath: setting(nameSchema.nullable(), "PEM file with the certificate's private key."),
    tlsCaPath: setting(nameSchema.nullable(), 'PEM file with the authorities to trust instead of the public ones.'),
    tlsVerify: setting(z.boolean(), "Whether to verify servers' TLS certificates."),
    trunks: setting(
      z.record(
        z.string().regex(TRUNK_NAME, 'Input should be a name of small letters, digits and dashes'),
        namedTrunkSchema,
      ),
      'Further trunks by name. Each has its own `servers`, `sources`, `numbers`, `domain`, `user`, `password`, `register` ' +
        'and `displayName`. It inherits `codecs`, `srtp`, `comfortNoise`, `numberFormat`, `country`, `fromUser`, ' +
        '`identity`, `transfer`, `transferFrom`, `extensions` and `keepAliveS` from `sip` unless it sets them. All trunks ' +
        'share the other settings.',
    ),
    callers: setting(
      z.record(nameSchema, passwordSchema),
      'Phones and PBXs without a fixed address: passwords by user name. They may call our numbers from any address after ' +
        'digest authentication, see [SIP](sip.md#callers-without-a-fixed-address).',
    ),
    callerAlgorithms: setting(
      z
        .array(z.enum(['SHA-256', 'MD5']))
        .min(1)
        .max(2),
      'Digest algorithms for `callers` in order of preference. Some phones support only MD5 and fail if SHA-256 is offered.',
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
      context.addIssue({ code: 'custom', path, message: '`account` needs `user`: set the account' });
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
            message: `${number} is listed twice: a number belongs to one trunk`,
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
