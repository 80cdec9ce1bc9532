import CSRTP

/// libsrtp's state of the whole process, which starts once and never ends.
enum SRTPLibrary {
    /// Whether the library is there to encrypt; the first call starts it, which takes about 25 ms: every cipher tests
    /// itself. `DTLSIdentity` makes that call, so that no call's first packet waits for it.
    static let isStarted = start()

    /// A session that nobody uses and that is never freed.
    ///
    /// Debian builds libsrtp on NSS, and each of its ciphers is a user of NSS that starts it if it is the first and ends
    /// it if it is the last: with nobody in a call, each session would cost 1 ms instead of 30 µs, and the end of one
    /// could run beside the start of another.
    ///
    /// `nonisolated(unsafe)`: it is written once, by the one call of `start`, and never read.
    nonisolated(unsafe) private static var keeper: srtp_t?

    private static func start() -> Bool {
        guard srtp_init() == srtp_err_status_ok else { return false }
        let profile = SRTPProfile.aes128GCM
        let key = [UInt8](repeating: 0, count: profile.keyLength + profile.saltLength)
        keeper = try? SRTPSession.create(profile, master: key, direction: ssrc_any_outbound)
        return keeper != nil
    }
}
