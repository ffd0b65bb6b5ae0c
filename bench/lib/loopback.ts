/** Both ends of WebRTC on this machine. */
export const ON_LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
