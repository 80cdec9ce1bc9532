import Basics
import Codecs
import Foundation
import Mixing
import Peer
import Recording
import RoomMedia
import Simulation
import Threads

/// A recorded room in virtual time whose only sender's clock runs at another rate than the server's.
///
/// All parts are those of a call: two peers over a simulated link, the sender's reports, the room's intake with its
/// jitter buffer and its decoders, the clocks of mix and picture, encoders, and the file. Only the sender's cameras and
/// the threads of the clocks are not.
final class DriftedRecording {
    private let film: FlashingFilm
    private let call: SimulatedCall
    private let pool = WorkPool(threads: 2)
    private let audio: AudioClock
    private let rooms: AudioClock.Rooms
    private let video: VideoClock
    private let engine: RoomEngine
    private let intake: Intake
    private let memory = RecordingMemory()
    private let recorder: MP4Recorder
    private let tap: RoomTap
    private let begin: Instant
    private var isConnected = false
    private var (frames, packets) = (Int64(0), Int64(0))

    /// The beginning of the virtual time lies after all real times, so that no frame is too old for the decoders, which
    /// read the real clock.
    private static let start = Instant(nanoseconds: 4_000_000_000_000_000_000)
    /// The most media that waits for the disk, so that the file has no losses.
    private static let mostWaiting = 8 << 20

    /// - Parameters:
    ///   - drift: by how much the sender's clock is faster: 0.0003 is 300 ppm.
    ///   - link: the way up.
    init(file: String, drift: Double, link: LinkConditions, seed: UInt64) throws {
        film = try FlashingFilm()
        begin = Self.start
        let meters = StageMeters()
        let overload = OverloadState()
        audio = AudioClock(name: "audio", meter: meters.audio, deliver: { _ in })
        rooms = AudioClock.Rooms(at: begin)
        video = VideoClock(overload: overload)
        pool.start()
        let rates = 1 << 40
        let services = MediaServices(
            pool: pool, meters: meters, overload: overload, audio: audio, video: video,
            decode: DecodeServices(
                pool: pool, meter: meters.decode, pixelsPerSecond: rates,
                shared: SharedDecodeBudget(pixelsPerSecond: rates, at: .zero), counters: meters.intake),
            deliver: { _, _, _, _ in }, report: { print($0) })
        var scene = Scene(
            width: 320, height: 180, framesPerSecond: FlashingFilm.framesPerSecond,
            views: [.main: Scene.View(layout: LayoutLibrary.builtIn["grid"])])
        scene.people = [
            Scene.Person(
                id: "a", name: "", isShown: true, sendsVideo: true, sendsAudio: true, isMuted: false, hand: false,
                isPresenting: false, isPinned: false, joinOrder: 0, gain: 1, hearsAs: "a")
        ]
        engine = RoomEngine(
            id: "r", scene: scene, rungs: [RoomMediaConfiguration.Rung(height: 180, bitRate: .kilobits(300))],
            audio: RoomMediaConfiguration.Audio(), services: services, tilesChanged: { _, _ in },
            speakersChanged: { _, _ in })
        intake = engine.add("a", hearsAs: "a", requestKeyframe: { _ in })
        engine.apply(scene)
        let recorder = try MP4Recorder(
            file: file, width: 320, height: 180, framesPerSecond: Double(FlashingFilm.framesPerSecond), memory: memory,
            onFailure: { print("the recording failed: \($0)") })
        self.recorder = recorder
        // The first use composes a picture of the real time, which is not to be in the file.
        let first = engine.tap("first", video: { _ in }, audio: { _, _ in })
        while engine.isBusy { sched_yield() }
        tap = engine.tap(
            "recording", video: { recorder.append($0) }, audio: { recorder.append(audio: $0, timestamp: $1) })
        first.end()
        var client = PeerConfiguration(role: .client)
        client.videoCodecs = [.vp8]
        call = try SimulatedCall(
            client: client, clientIdentity: DTLSIdentity.generate(), serverIdentity: DTLSIdentity.generate(), up: link,
            down: LinkConditions(delay: link.delay), seed: seed, start: begin)
        call.clientDrift = drift
        call.collectsEvents = false
        call.tick = .milliseconds(5)
    }

    /// Runs the call for a time of the server's clock, and closes the file.
    func run(for length: Duration) async throws -> RecordingSummary {
        call.onEvent = { [unowned self] _, side, event in handle(event, of: side) }
        call.onTick = { [unowned self] _, now in
            if isConnected { send() }
            mix(at: now)
        }
        try call.negotiate()
        call.run(for: length)
        tap.end()
        let summary = try await recorder.finish()
        engine.close()
        pool.stop()
        return summary
    }

    private func handle(_ event: PeerEvent, of side: SimulatedCall.Side) {
        switch (side, event) {
        case (.client, .connected): isConnected = true
        case (.server, .video(let frame)): _ = intake.video.receive(frame)
        case (.server, .audio(let packet)): intake.receive(packet)
        default: break
        }
    }

    /// Sends what is due by the sender's own clock.
    private func send() {
        let elapsed = call.clientNow - begin
        while Duration.milliseconds(20) * Int(packets) <= elapsed {
            let packet = film.packet(packets)
            call.client.send(
                audio: packet.payload, timestamp: packet.timestamp, marker: false, level: nil, at: call.clientNow)
            packets += 1
        }
        while Double(frames) / Double(FlashingFilm.framesPerSecond) <= elapsed.inSeconds {
            call.client.send(film.frame(frames), at: call.clientNow)
            frames += 1
        }
    }

    /// Runs the clocks' ticks that are due, and waits for the threads, to which no virtual time applies.
    private func mix(at now: Instant) {
        settle()
        _ = audio.run(rooms, at: now)
        _ = video.run(at: now)
        settle()
        while memory.waiting > Self.mostWaiting { usleep(1000) }
    }

    private func settle() {
        while engine.isBusy { sched_yield() }
    }
}
