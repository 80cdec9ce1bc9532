import Basics
import Codecs
import Conference
import Foundation
import Peer
import Sockets
import Threads

/// A participant over real loopback UDP: sends one colour and one tone, unless it is told not to, and keeps the received
/// pictures, audio and messages.
///
/// `@unchecked Sendable`: everything but `seen` is touched on its own loop's thread.
final class LoopbackClient: MediaLoopDelegate, @unchecked Sendable {
    struct Seen {
        var picture: Picture?
        var frames = 0
        var audio: [Float] = []
        var messages: [DataChannelMessage] = []
        var isConnected = false
        var failure: String?
        var codec: VideoCodec?
    }

    let loop: MediaLoop
    private let peer: PeerConnection
    private let colour: (y: UInt8, u: UInt8, v: UInt8)
    private let tone: Double
    private let sendsMedia: Bool
    private let encoder: any VideoEncoder
    private let opus: OpusEncoder
    private var decoder: VideoDecoder?
    private let audioDecoder: OpusDecoder
    private var phase = 0.0
    private var nextFrame: Instant?
    private var nextAudio: Instant?
    private var wantsKeyframe = true
    private let lock = NSLock()
    private var kept = Seen()

    var seen: Seen { lock.withLock { kept } }
    func forgetAudio() { lock.withLock { kept.audio.removeAll() } }

    init(codec: VideoCodec, colour: (y: UInt8, u: UInt8, v: UInt8), tone: Double, sendsMedia: Bool = true) throws {
        loop = try MediaLoop(MediaLoopConfiguration(udp: [SocketAddress(.v4(0x7F00_0001), port: 0)]))
        var settings = PeerConfiguration(role: .client)
        settings.localAddresses = loop.boundUDP
        settings.videoCodecs = [codec]
        peer = try PeerConnection(settings, identity: try DTLSIdentity.generate(), at: MonotonicClock.now())
        self.colour = colour
        self.tone = tone
        self.sendsMedia = sendsMedia
        encoder = try makeVideoEncoder(
            VideoEncoderConfiguration(
                codec: codec, width: 320, height: 180, framesPerSecond: 30, bitRate: .kilobits(300)))
        opus = try OpusEncoder(bitRate: .kilobits(32))
        audioDecoder = try OpusDecoder()
        loop.start(named: "client", delegate: LoopbackClient.passing(self))
    }

    /// The loop owns its delegate; the test keeps a reference for `seen` and `onLoop`.
    private static func passing(_ client: LoopbackClient) -> any MediaLoopDelegate & Sendable { client }

    func onLoop<Value: Sendable>(_ body: @escaping @Sendable (PeerConnection, Instant) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            loop.execute { [self] in continuation.resume(returning: body(peer, MonotonicClock.now())) }
        }
    }

    func received(_ datagram: UnsafeMutableRawBufferPointer, flow: Flow, at now: Instant) {
        peer.receive(datagram, flow: flow, at: now)
    }

    func closed(_ flow: Flow) {}

    func advance(to now: Instant) -> Instant? {
        peer.advance(to: now)
        while let event = peer.nextEvent() { handle(event) }
        if peer.isConnected, sendsMedia {
            sendAudio(at: now)
            sendFrame(at: now)
        }
        peer.flush { bytes, flow in loop.send(bytes, flow: flow) }
        let deadlines = [peer.nextDeadline(after: now), nextFrame, nextAudio].compactMap { $0 }
        return deadlines.min()
    }

    private func sendFrame(at now: Instant) {
        guard now >= nextFrame ?? now else { return }
        nextFrame = (nextFrame ?? now) + .nanoseconds(33_333_333)
        let picture = Picture(width: 320, height: 180)
        picture.fill(y: colour.y, u: colour.u, v: colour.v)
        guard let frame = try? encoder.encode(picture, timestamp: now.ticks(at: 90_000), forceKeyframe: wantsKeyframe)
        else {
            return
        }
        wantsKeyframe = false
        peer.send(PacketizedVideoFrame(frame), at: now)
    }

    private func sendAudio(at now: Instant) {
        guard now >= nextAudio ?? now else { return }
        let tick = nextAudio ?? now
        nextAudio = tick + .milliseconds(20)
        let samples = (0..<960).map { _ -> Float in
            phase += 2 * .pi * tone / 48_000
            return Float(0.3 * sin(phase))
        }
        guard let packet = try? opus.encode(samples) else { return }
        peer.send(audio: packet, timestamp: tick.ticks(at: 48_000), marker: false, level: nil, at: now)
    }

    private func handle(_ event: PeerEvent) {
        switch event {
        case .connected: lock.withLock { kept.isConnected = true }
        case .failed(let reason): lock.withLock { kept.failure = reason }
        case .keyframeRequested: wantsKeyframe = true
        case .video(let frame):
            if decoder?.codec != frame.frame.codec { decoder = try? VideoDecoder(codec: frame.frame.codec) }
            guard let decoded = try? decoder?.decode(frame.frame) else { return }
            lock.withLock {
                kept.picture = decoded
                kept.frames += 1
                kept.codec = frame.frame.codec
            }
        case .audio(let packet):
            var samples: [Float] = []
            try? audioDecoder.decode(packet.payload, into: &samples)
            lock.withLock { kept.audio += samples }
        case .message(_, _, let message): lock.withLock { kept.messages.append(message) }
        default: break
        }
    }

    /// Connects to the participant's seat as a browser does: offer, answer, checks.
    func call(_ answer: (String) async throws -> SDPAnswer) async throws {
        let offer = await onLoop { peer, now in peer.makeOffer(at: now) }
        let text = try await answer(offer).text
        let failure = await onLoop { peer, now -> String? in
            do {
                try peer.accept(answer: text, at: now)
                return nil
            } catch { return "\(error)" }
        }
        if let failure { throw PeerError(failure) }
    }

    func stop() { loop.stop() }
}
