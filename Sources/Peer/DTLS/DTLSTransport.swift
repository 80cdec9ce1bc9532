package import Basics
import COpenSSL

/// What a DTLS transport reports to its owner.
package enum DTLSEvent: Hashable, Sendable {
    /// The handshake is done and the peer's certificate has a fingerprint that the signalling named.
    case connected(SRTPKeys)
    /// Application data: an SCTP packet. Never before `connected`.
    case data([UInt8])
    /// The peer sent close_notify. The last event.
    case closed
    /// The transport failed, with a sentence for the log. The last event.
    case failed(String)
}

/// The settings of one transport.
public struct DTLSConfiguration: Hashable, Sendable {
    /// The largest datagram sent, in bytes of UDP payload.
    public var mtu = 1200
    /// Whether DTLS 1.0 is accepted too, against RFC 8827 §6.5, for old equipment.
    public var allowsLegacyVersions = false
    /// The wait before the first retransmission of a flight; each later one comes after twice the wait. OpenSSL's
    /// default of one second shows a second of black picture after one lost packet.
    public var firstRetransmission = Duration.milliseconds(100)
    /// The longest wait.
    public var longestRetransmission = Duration.seconds(4)
    /// The handshake fails when it takes longer; OpenSSL alone would never give up.
    public var handshakeTimeout = Duration.seconds(30)

    /// The default times.
    public init() {}
}

/// The counters of a DTLS transport.
public struct DTLSStatistics: Hashable, Sendable {
    /// Datagrams that were no DTLS or came in the wrong state.
    public var ignoredDatagrams = 0
    /// Retransmitted flights of the handshake, because its answer did not come.
    public var retransmissions = 0
    /// How often its last flight was sent once more, which has no answer.
    public var repetitions = 0

    /// Makes counters of zero.
    public init() {}
}

/// The DTLS 1.2 association of one connection, on OpenSSL, without I/O and in virtual time. Confined to its
/// connection's thread.
///
/// The caller passes in datagrams with `receive` and the time with `advance`; after either it takes out `nextTransmit`
/// and `nextEvent` until both are nil.
package final class DTLSTransport {
    package let role: DTLSRole
    package private(set) var statistics = DTLSStatistics()

    private enum State {
        case idle
        case handshaking
        /// The handshake is done, but the signalling has not yet named a fingerprint.
        case unverified(held: [[UInt8]])
        case connected
        case ended
    }

    /// How many records of application data are held until the fingerprints arrive. More are dropped: SCTP retransmits.
    private static let mostHeldRecords = 64

    /// The bytes that a record adds: 13 of header and, in a CBC suite, IV, MAC and padding (16 + 20 + 16). AEAD suites
    /// need 37 in all.
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
    private var lastFlight = LastFlight()
    /// Events that only the verified peer can have caused: its data, its close_notify, the end of the handshake.
    private(set) var authenticRecords = 0
    private var record = [UInt8](repeating: 0, count: 1 << 14)

    package convenience init(
        role: DTLSRole, identity: DTLSIdentity, configuration: DTLSConfiguration = DTLSConfiguration(), at now: Instant
    ) throws(DTLSError) {
        try self.init(role: role, identity: identity, configuration: configuration, timer: .ofThisLibrary, at: now)
    }

    /// - Parameter timer: for tests: the timer handling for another version of OpenSSL.
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
        // SSL_set_bio takes one reference if both BIOs are the same.
        SSL_set_bio(ssl, stream, stream)
        // OpenSSL appends the 14 bytes of a ChangeCipherSpec to a datagram without checking that they fit.
        _ = ossl_set_mtu(ssl, configuration.mtu - 14)
        bio.install(on: ssl)
        if role == .client { SSL_set_connect_state(ssl) } else { SSL_set_accept_state(ssl) }
        self.ssl = ssl
    }

    deinit {
        // SSL_free frees the BIO too, before `bio` is released.
        SSL_free(ssl)
    }

    /// Starts the handshake: a client sends its first flight, a server waits. A datagram before this starts it as well.
    package func start(at now: Instant) {
        guard case .idle = state else { return }
        state = .handshaking
        handshakeDeadline = now + configuration.handshakeTimeout
        drive(at: now)
    }

    /// Sets the fingerprints of the certificates that the peer may present, from its SDP. They may come late: until
    /// then the transport holds application data back and does not report `connected`.
    package func setRemoteFingerprints(_ fingerprints: [Fingerprint]) {
        remoteFingerprints = fingerprints
        switch state {
        case .unverified(let held): verify(held: held)
        case .connected where !peerMatches():
            fail("the peer's certificate is not the one that its new description names")
        default: break
        }
    }

    /// Takes a datagram of the peer that is DTLS by its first byte.
    package func receive(_ datagram: UnsafeRawBufferPointer, at now: Instant) {
        // DTLS uses content types 20 to 63 (RFC 7983 §7), and a record header has 13 bytes.
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

    /// Advances to `now`: retransmits a lost flight, or fails the handshake.
    package func advance(to now: Instant) {
        guard case .handshaking = state else { return repeatLastFlight(at: now) }
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
            // OpenSSL's wall clock is a little behind `now`.
            self.retransmitAt = now + Self.timerStep
            return
        }
        retransmitAfter = min(retransmitAfter * 2, configuration.longestRetransmission)
        statistics.retransmissions += 1
        if result < 0 { fail(DTLSError("sending the DTLS handshake again").description) }
        followTimer(at: now)
    }

    /// How long to wait before OpenSSL's own timer is checked again if it has not expired yet.
    private static let timerStep = Duration.milliseconds(5)

    /// The time of the next call of `advance`.
    package var nextDeadline: Instant? {
        guard case .handshaking = state else { return lastFlight.nextDeadline }
        guard let retransmitAt, let handshakeDeadline else { return retransmitAt ?? handshakeDeadline }
        return min(retransmitAt, handshakeDeadline)
    }

    /// To be called when media of the peer is authentic, which shows that it has finished the handshake too.
    package func peerHasFinished() { lastFlight.hasArrived() }

    /// The next datagram to send.
    package func nextTransmit() -> [UInt8]? {
        bio.outbound.isEmpty ? nil : bio.outbound.removeFirst()
    }

    /// The next event; nil when there is none.
    package func nextEvent() -> DTLSEvent? {
        events.isEmpty ? nil : events.removeFirst()
    }

    /// Sends one record of application data. False if there is no verified peer, or the record is too large for a
    /// datagram.
    @discardableResult
    package func send(_ application: [UInt8]) -> Bool {
        guard case .connected = state, !application.isEmpty,
            application.count <= configuration.mtu - Self.recordOverhead,
            let count = Int32(exactly: application.count)
        else { return false }
        ERR_clear_error()
        bio.packs = false
        defer { bio.packs = true }
        guard SSL_write(ssl, application, count) > 0 else {
            ERR_clear_error()
            return false
        }
        return true
    }

    /// Sends close_notify and ends. Nothing follows except what `nextTransmit` still holds.
    package func close() {
        if case .ended = state { return }
        sendCloseNotify()
        end()
    }

    // MARK: - Inside

    private func drive(at now: Instant) {
        if case .handshaking = state { handshake(at: now) }
        if case .handshaking = state {} else { readRecords() }
        followTimer(at: now)
    }

    private func handshake(at now: Instant) {
        ERR_clear_error()
        // The first record of a flight may join a datagram that has not left yet.
        let before = max(bio.outbound.count - 1, 0)
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            if role == .server { lastFlight = LastFlight(Array(bio.outbound[before...]), at: now) }
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

    /// Reads all records of the datagram: a single read would leave further records until the next datagram comes.
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

    private func repeatLastFlight(at now: Instant) {
        guard let datagrams = lastFlight.next(at: now) else { return }
        bio.outbound += datagrams
        statistics.repetitions += 1
    }

    private func deliver(_ data: [UInt8]) {
        lastFlight.hasArrived()
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

    /// Follows OpenSSL's timer, which starts with every flight and stops when the answer comes.
    private func followTimer(at now: Instant) {
        if bio.timerStopped {
            retransmitAt = nil
            retransmitAfter = configuration.firstRetransmission
        }
        if bio.timerStarted { retransmitAt = now + retransmitAfter }
        bio.timerStopped = false
        bio.timerStarted = false
    }

    private func sendCloseNotify() {
        guard SSL_is_init_finished(ssl) == 1 else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
    }

    private func peerClosed() {
        authenticRecords &+= 1
        sendCloseNotify()
        end()
        events.append(.closed)
    }

    private func fail(_ reason: String) {
        sendCloseNotify()
        end()
        events.append(.failed(reason))
    }

    private func end() {
        state = .ended
        lastFlight.hasArrived()
        retransmitAt = nil
        handshakeDeadline = nil
    }
}
