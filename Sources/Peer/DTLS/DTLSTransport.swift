import Basics
import COpenSSL

/// What a DTLS transport tells its owner.
package enum DTLSEvent: Hashable, Sendable {
    /// The handshake is done and the peer's certificate is the one that the signalling named.
    case connected(SRTPKeys)
    /// Application data: an SCTP packet. Never before `connected`.
    case data([UInt8])
    /// The peer said goodbye (close_notify). The last event.
    case closed
    /// The last event, with a sentence for the log.
    case failed(String)
}

/// What differs from one transport to the next.
public struct DTLSConfiguration: Hashable, Sendable {
    /// The largest datagram sent, in bytes of UDP payload.
    public var mtu = 1200
    /// Also take DTLS 1.0, against RFC 8827 §6.5, for old equipment.
    public var allowsLegacyVersions = false
    /// The first retransmission comes this long after a flight, each later one after twice the wait. OpenSSL's one
    /// second is a second of black picture for one lost packet.
    public var firstRetransmission = Duration.milliseconds(100)
    /// The wait does not grow beyond this.
    public var longestRetransmission = Duration.seconds(4)
    /// The handshake has failed when it takes longer; OpenSSL would go on for ever.
    public var handshakeTimeout = Duration.seconds(30)

    /// The usual times.
    public init() {}
}

/// How many datagrams did not make sense, and how often a flight was sent again.
public struct DTLSStatistics: Hashable, Sendable {
    /// Datagrams that made no sense.
    public var ignoredDatagrams = 0
    /// Flights of the handshake that were sent again.
    public var retransmissions = 0

    /// Nothing counted yet.
    public init() {}
}

/// The DTLS 1.2 association of one connection, on OpenSSL, without I/O and in virtual time. Confined to its
/// connection's thread.
///
/// Hand in datagrams with `receive` and the time with `advance`; after either, take out `nextTransmit` and `nextEvent`
/// until nil.
package final class DTLSTransport {
    package let role: DTLSRole
    package private(set) var statistics = DTLSStatistics()

    private enum State {
        case idle
        case handshaking
        /// Done, but the signalling has not yet said whom to expect.
        case unverified(held: [[UInt8]])
        case connected
        case ended
    }

    /// How much application data is kept for fingerprints that are late, in records. More is dropped: SCTP sends again.
    private static let mostHeldRecords = 64

    /// What a record adds: 13 bytes of header and, in a CBC suite, IV, MAC and padding (16 + 20 + 16). AEAD suites need
    /// 37 in all.
    package static let recordOverhead = 65

    private let identity: DTLSIdentity
    private let configuration: DTLSConfiguration
    private let bio: DatagramBIO
    private let ssl: OpaquePointer
    private var state = State.idle
    private var remoteFingerprints: [Fingerprint] = []
    private var events: [DTLSEvent] = []
    private var handshakeDeadline: Instant?
    private var retransmitAt: Instant?
    private var retransmitAfter: Duration
    /// What was heard that only the verified peer can have sent: its data, its goodbye, what ended the handshake.
    private(set) var authenticRecords = 0
    private var record = [UInt8](repeating: 0, count: 1 << 14)

    package convenience init(
        role: DTLSRole, identity: DTLSIdentity, configuration: DTLSConfiguration = DTLSConfiguration(), at now: Instant
    ) throws(DTLSError) {
        try self.init(role: role, identity: identity, configuration: configuration, timer: .ofThisLibrary, at: now)
    }

    /// - Parameter timer: for tests: how another version of OpenSSL would be met.
    init(
        role: DTLSRole, identity: DTLSIdentity, configuration: DTLSConfiguration, timer: DatagramBIO.Timer,
        at now: Instant
    ) throws(DTLSError) {
        self.role = role
        self.identity = identity
        self.configuration = configuration
        retransmitAfter = configuration.firstRetransmission
        bio = DatagramBIO(mtu: configuration.mtu, timer: timer)
        bio.firstWait = UInt32(clamping: configuration.firstRetransmission.nanoseconds / 1000)
        bio.longestWait = UInt32(clamping: configuration.longestRetransmission.nanoseconds / 1000)
        ERR_clear_error()
        let context = configuration.allowsLegacyVersions ? identity.legacyContext : identity.context
        guard let ssl = SSL_new(context) else { throw DTLSError("making a DTLS connection") }
        guard let stream = bio.make() else {
            SSL_free(ssl)
            throw DTLSError("making a DTLS connection")
        }
        // Takes the one reference when both are the same.
        SSL_set_bio(ssl, stream, stream)
        // OpenSSL appends the 14 bytes of a ChangeCipherSpec to a datagram without asking whether they fit.
        _ = ossl_set_mtu(ssl, configuration.mtu - 14)
        bio.install(on: ssl)
        if role == .client { SSL_set_connect_state(ssl) } else { SSL_set_accept_state(ssl) }
        self.ssl = ssl
    }

    deinit {
        // Frees the BIO too, before `bio` goes.
        SSL_free(ssl)
    }

    /// The handshake may begin: a client speaks, a server listens. Datagrams before this start it as well.
    package func start(at now: Instant) {
        guard case .idle = state else { return }
        state = .handshaking
        handshakeDeadline = now + configuration.handshakeTimeout
        drive(at: now)
    }

    /// The certificates that the peer may show, from its SDP. May come late: until then the transport holds its breath.
    package func setRemoteFingerprints(_ fingerprints: [Fingerprint]) {
        remoteFingerprints = fingerprints
        switch state {
        case .unverified(let held): verify(held: held)
        case .connected where !peerMatches():
            fail("the peer's certificate is not the one that its new description names")
        default: break
        }
    }

    /// A datagram of the peer's, of DTLS by its first byte.
    package func receive(_ datagram: UnsafeRawBufferPointer, at now: Instant) {
        // Content types 20…63 are DTLS's (RFC 7983 §7), and a record header has 13 bytes.
        guard datagram.count >= 13, (20...63).contains(datagram[0]) else {
            statistics.ignoredDatagrams += 1
            return
        }
        switch state {
        case .idle: start(at: now)
        case .ended: return
        default: break
        }
        bio.inbound = datagram
        drive(at: now)
        bio.inbound = nil
    }

    /// Time has passed: sends a lost flight again, or gives up.
    package func advance(to now: Instant) {
        guard case .handshaking = state else { return }
        if let handshakeDeadline, now >= handshakeDeadline {
            fail("the DTLS handshake did not finish within \(configuration.handshakeTimeout.inSeconds) s")
            return
        }
        guard let retransmitAt, now >= retransmitAt else { return }
        self.retransmitAt = nil
        if bio.timer == .shared, !bio.expireTimer() { return }
        ERR_clear_error()
        let result = ossl_handle_timeout(ssl)
        guard result != 0 else {
            // OpenSSL's wall clock is a little behind ours.
            self.retransmitAt = now + Self.timerStep
            return
        }
        retransmitAfter = min(retransmitAfter * 2, configuration.longestRetransmission)
        statistics.retransmissions += 1
        if result < 0 { fail(DTLSError("sending the DTLS handshake again").description) }
        followTimer(at: now)
    }

    /// After how long a timer of OpenSSL's own is looked at again that has not run out yet.
    private static let timerStep = Duration.milliseconds(5)

    /// When `advance` wants to be called next.
    package var nextDeadline: Instant? {
        guard case .handshaking = state else { return nil }
        guard let retransmitAt, let handshakeDeadline else { return retransmitAt ?? handshakeDeadline }
        return min(retransmitAt, handshakeDeadline)
    }

    /// The next datagram to send.
    package func nextTransmit() -> [UInt8]? {
        bio.outbound.isEmpty ? nil : bio.outbound.removeFirst()
    }

    /// What happened next; nil when all is told.
    package func nextEvent() -> DTLSEvent? {
        events.isEmpty ? nil : events.removeFirst()
    }

    /// Sends one record of application data. False when there is no verified peer, or the record is too large for a
    /// datagram.
    @discardableResult
    package func send(_ application: [UInt8]) -> Bool {
        guard case .connected = state, !application.isEmpty,
            application.count <= configuration.mtu - Self.recordOverhead,
            let count = Int32(exactly: application.count)
        else { return false }
        ERR_clear_error()
        guard SSL_write(ssl, application, count) > 0 else {
            ERR_clear_error()
            return false
        }
        return true
    }

    /// Says goodbye. Nothing comes after it but what `nextTransmit` still holds.
    package func close() {
        if case .ended = state { return }
        sayGoodbye()
        end()
    }

    // MARK: - Inside

    private func drive(at now: Instant) {
        if case .handshaking = state { handshake() }
        if case .handshaking = state {} else { readRecords() }
        followTimer(at: now)
    }

    private func handshake() {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            state = .unverified(held: [])
            handshakeDeadline = nil
            if !remoteFingerprints.isEmpty { verify(held: []) }
            return
        }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: ERR_clear_error()
        case SSL_ERROR_ZERO_RETURN: peerClosed()
        default: fail(DTLSError("the DTLS handshake").description)
        }
    }

    /// All records of the datagram: one read a datagram would leave packed ones until the next comes.
    private func readRecords() {
        while true {
            if case .ended = state { return }
            ERR_clear_error()
            let count = SSL_read(ssl, &record, Int32(truncatingIfNeeded: record.count))
            if count > 0 {
                deliver(Array(record[0..<Int(count)]))
                continue
            }
            switch SSL_get_error(ssl, count) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: ERR_clear_error()
            case SSL_ERROR_ZERO_RETURN: peerClosed()
            default: fail(DTLSError("reading from the DTLS peer").description)
            }
            return
        }
    }

    private func deliver(_ data: [UInt8]) {
        switch state {
        case .connected:
            authenticRecords &+= 1
            events.append(.data(data))
        case .unverified(var held) where held.count < Self.mostHeldRecords:
            held.append(data)
            state = .unverified(held: held)
        default: statistics.ignoredDatagrams += 1
        }
    }

    private func verify(held: [[UInt8]]) {
        guard peerMatches() else {
            fail("the peer's certificate is not the one that its description names")
            return
        }
        guard let keys = exportKeys() else {
            fail("the peer did not agree to a way of encrypting media (DTLS-SRTP)")
            return
        }
        state = .connected
        authenticRecords &+= 1
        events.append(.connected(keys))
        for data in held { events.append(.data(data)) }
    }

    /// Whether the peer's certificate has one of the expected fingerprints (RFC 8122 §6.2).
    private func peerMatches() -> Bool {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { return false }
        defer { X509_free(certificate) }
        return remoteFingerprints.contains { expected in
            DTLSIdentity.digest(of: certificate, algorithm: expected.algorithm) == expected.bytes
        }
    }

    private func exportKeys() -> SRTPKeys? {
        guard let selected = SSL_get_selected_srtp_profile(ssl),
            let number = UInt16(exactly: selected.pointee.id), let profile = SRTPProfile(rawValue: number)
        else { return nil }
        var exported = [UInt8](repeating: 0, count: profile.exportedLength)
        let label = "EXTRACTOR-dtls_srtp"
        guard
            SSL_export_keying_material(ssl, &exported, exported.count, label, label.utf8.count, nil, 0, 0) == 1
        else {
            ERR_clear_error()
            return nil
        }
        return SRTPKeys(profile: profile, exported: exported, role: role)
    }

    /// Moves our timer along with OpenSSL's, which starts with every flight and stops when its answer comes.
    private func followTimer(at now: Instant) {
        if bio.timerStopped {
            retransmitAt = nil
            retransmitAfter = configuration.firstRetransmission
        }
        if bio.timerStarted { retransmitAt = now + retransmitAfter }
        bio.timerStopped = false
        bio.timerStarted = false
    }

    private func sayGoodbye() {
        guard SSL_is_init_finished(ssl) == 1 else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
    }

    private func peerClosed() {
        authenticRecords &+= 1
        sayGoodbye()
        end()
        events.append(.closed)
    }

    private func fail(_ reason: String) {
        sayGoodbye()
        end()
        events.append(.failed(reason))
    }

    private func end() {
        state = .ended
        retransmitAt = nil
        handshakeDeadline = nil
    }
}
