import Basics
import Codecs
import Glibc
import Mixing

/// An encoded tick of audio for one peer.
package struct AudioDelivery: Sendable {
    var seat: SeatID
    var payload: [UInt8]
    var timestamp: Int64
    /// The level in −dBov (RFC 6464).
    var level: UInt8
}

/// The speakers of a room, as its audio thread detects them.
package struct Speakers: Hashable, Sendable {
    /// The dominant speaker.
    package var active: String?
    /// Past and present speakers, the latest first.
    package var ranks: [String] = []
    /// Everyone who speaks now.
    package var speaking: Set<String> = []
    /// Everyone who ever spoke, by the loudness of the last seconds, the loudest first.
    package var loudest: [String] = []
}

/// The audio of one room. Confined to the audio thread.
final class AudioRoom {
    struct Seat {
        var intake: AudioIntake
        var gain: Float = 1
        /// Whether the participant is in the mix.
        var isHeard = true
        /// Whether the participant may have a track of its own; false until the scene says so.
        var isRecorded = false
        /// The participant whose audio its mix leaves out.
        var hearsAs: String
        var profile = AudioProfile.clear
        var receiverLimits = OpusReceiverLimits()
        /// The peer that the mix is sent to; nil: none is connected.
        var destination: SeatID?
    }

    private struct EncoderKey: Hashable {
        /// nil: the full mix.
        var without: String?
        var coding: AudioCoding

        var ticksPerPacket: Int { coding.ticksPerPacket }
    }

    private struct Packet {
        var payload: [UInt8]
        var level: UInt8
    }

    /// The mixes of one tick.
    private struct TickAudio {
        var full: [Float] = []
        /// Each contributor's mix, without its own audio.
        var own: [String: [Float]] = [:]

        func audio(without id: String?) -> [Float] { id.flatMap { own[$0] } ?? full }
    }

    /// The most encoder settings in one room, and `AudioCoding.least` beside them: each costs 0.1 ms of every tick of
    /// all rooms, and as much again for each contributor. Participants on links of all kinds need six.
    static let mostCodings = 8

    var seats: [String: Seat] = [:]
    /// Each takes the mix of those who are recorded, and its room time at 48 kHz.
    var taps: [String: @Sendable ([Float], Int64) -> Void] = [:]

    /// Each takes the audio of all who may be recorded. While there is one, everybody is decoded.
    var trackTaps: [String: @Sendable ([TrackVoice], Int64) -> Void] = [:]

    private let mixer: AudioMixer
    private let bitRate: BitRate
    private let levelsVoices: Bool
    /// Of the participants whose audio has been heard, where voices are brought to a common loudness.
    private var levellers: [String: VoiceLeveller] = [:]
    private var audible = AudibleVoices()
    private var detector = SpeakerDetector()
    private var loudness = LoudnessRanks()
    private var speakers = Speakers()
    private var encoders: [EncoderKey: OpusEncoder] = [:]
    private var lastUse: [EncoderKey: Instant] = [:]
    /// The first halves of packets of two ticks.
    private var firstTicks: [EncoderKey: [Float]] = [:]
    /// The settings in use, with the time of their last use.
    private(set) var codings: [AudioCoding: Instant] = [:]
    private var isSecondTick = false
    /// The previous tick, and the one before a packet of two ticks began: an encoder that takes over starts from their
    /// audio.
    private var previous = TickAudio()
    private var previousPair = TickAudio()
    /// The mixes that have announced the beginning of silence (DTX).
    private var silent: Set<EncoderKey> = []
    /// The packets of silence that each mix has had in a row.
    private var quietPackets: [EncoderKey: Int] = [:]
    /// After so many packets of silence an encoder says nothing more of what was before.
    private static let fadingPackets = 10
    private static let silentLevel = LevelMeter.headerValue(LevelMeter.silence)
    /// Shared with the thread's other rooms.
    var silence = SilencePackets()
    private var sampleBuffers: [String: [Float]] = [:]
    /// Participants who left since the last tick: one more tick of their audio fades out.
    private var leaving: [String: AudioIntake] = [:]
    /// The participants who are not recorded, and those of `leaving` who were not.
    private var unrecorded: Set<String> = []
    private var leavingUnrecorded: Set<String> = []
    private let speakersChanged: @Sendable (Speakers) -> Void

    init(configuration: RoomMediaConfiguration.Audio, speakersChanged: @escaping @Sendable (Speakers) -> Void) {
        var mixing = AudioMixerConfiguration()
        mixing.maxSpeakers = max(1, configuration.maxSpeakers)
        mixer = AudioMixer(configuration: mixing)
        (previous.full, previousPair.full) = (mixer.full, mixer.full)
        bitRate = configuration.bitRate
        levelsVoices = configuration.level == .auto
        self.speakersChanged = speakersChanged
    }

    /// Takes over the room's settings of its participants.
    func apply(_ people: [Scene.Person]) {
        for person in people {
            seats[person.id]?.gain = person.gain
            seats[person.id]?.isHeard = person.sendsAudio
            seats[person.id]?.isRecorded = person.isRecorded
            seats[person.id]?.hearsAs = person.hearsAs
        }
        unrecorded = Set(people.lazy.filter { !$0.isRecorded }.map(\.id))
    }

    /// Removes a participant, whose audio fades out without a click.
    func leave(_ id: String) {
        guard let seat = seats.removeValue(forKey: id) else { return }
        leaving[id] = seat.intake
        if unrecorded.contains(id) { leavingUnrecorded.insert(id) }
    }

    /// Whether the taps have a mix of their own now.
    var hasOutgoingMix: Bool { mixer.hasOutgoing }

    /// Mixes the tick at `now` and appends each peer's packet.
    func tick(_ now: Instant, into deliveries: inout [AudioDelivery]) {
        let sources = collect(now)
        keepPreviousTick()
        (mixer.leftOut, mixer.mixesOutgoing) = (unrecorded.union(leavingUnrecorded), !taps.isEmpty)
        mix(sources, at: 0, inputs: [])
        leavingUnrecorded.removeAll()
        for id in leaving.keys { (sampleBuffers[id], levellers[id]) = (nil, nil) }
        leaving.removeAll()
        detectSpeakers(now)
        let timestamp = now.ticks(at: 48_000)
        let outgoing = mixer.outgoing
        for tap in taps.values { tap(outgoing, timestamp) }

        let contributors = Set(mixer.contributors)
        var packets: [EncoderKey: Packet] = [:]
        for seat in seats.values {
            guard let destination = seat.destination else { continue }
            let without = contributors.contains(seat.hearsAs) ? seat.hearsAs : nil
            let key = EncoderKey(without: without, coding: coding(for: seat, now))
            if packets[key] == nil { packets[key] = encode(key, now) }
            guard let packet = packets[key], !packet.payload.isEmpty else { continue }
            let earlier = Int64((key.ticksPerPacket - 1) * OpusEncoder.frameSize)
            deliveries.append(
                AudioDelivery(
                    seat: destination, payload: packet.payload, timestamp: timestamp - earlier, level: packet.level))
        }
        if isSecondTick { firstTicks.removeAll(keepingCapacity: true) }
        isSecondTick.toggle()
        forgetIdleEncoders(now)
    }

    /// Keeps the previous tick's mixes. The mixer then writes into new arrays, 4 kB for each contributor.
    private func keepPreviousTick() {
        previous.full = mixer.full
        previous.own.removeAll(keepingCapacity: true)
        for id in mixer.contributors { previous.own[id] = mixer.mix(without: id) }
        if !isSecondTick { previousPair = previous }
    }

    /// Takes the audio of all participants and returns the ids of those who are not silent.
    private func collect(_ now: Instant) -> [String] {
        var sources: [String] = []
        var voices: [TrackVoice] = []
        let hasTracks = !trackTaps.isEmpty
        for (id, seat) in seats { seat.intake.collect(at: now, gain: seat.gain * levelling(id)) }
        let loudest = loudest(now)
        for (id, seat) in seats {
            var samples = sampleBuffers.removeValue(forKey: id) ?? []
            let isAudible =
                seat.isHeard && seat.gain > 0
                && loudest.map { $0.contains(id) || seat.intake.rating(at: now) == nil } ?? true
            let isTracked = hasTracks && seat.isRecorded
            let isSource = seat.intake.pull(
                at: now, isAudible: isAudible, decodesAlways: isTracked && seat.isHeard, into: &samples)
            if isSource { sources.append(id) }
            if isTracked {
                let isHeard = seat.isHeard && seat.intake.hasSound
                voices.append(
                    TrackVoice(
                        participant: id, samples: isHeard ? samples : nil, delay: seat.intake.captureDelay(at: now)))
            }
            if levelsVoices { level(id, &samples, isSource: isSource) }
            sampleBuffers[id] = samples
        }
        if hasTracks {
            let timestamp = now.ticks(at: 48_000)
            for tap in trackTaps.values { tap(voices, timestamp) }
        }
        for (id, intake) in leaving {
            intake.collect(at: now)
            var samples = sampleBuffers.removeValue(forKey: id) ?? []
            if intake.pull(at: now, into: &samples) { sources.append(id) }
            if levelsVoices { level(id, &samples, isSource: true) }
            sampleBuffers[id] = samples
        }
        // In a fixed order, so that equal levels give the same choice each tick.
        return sources.sorted()
    }

    /// Brings a tick of a participant's voice to the common loudness.
    private func level(_ id: String, _ samples: inout [Float], isSource: Bool) {
        guard isSource else {
            levellers[id]?.skip()
            return
        }
        samples.withUnsafeMutableBufferPointer { levellers[id, default: VoiceLeveller()].process($0) }
    }

    /// The factor that brings a participant's voice to the common loudness.
    private func levelling(_ id: String) -> Float { levellers[id]?.factor ?? 1 }

    /// The participants to decode where more are there than are mixed at once; nil: all who do not rest.
    private func loudest(_ now: Instant) -> Set<String>? {
        guard seats.count > mixer.configuration.maxSpeakers + AudibleVoices.spare else { return nil }
        var ratings: [(id: String, rating: Double)] = []
        for (id, seat) in seats where seat.isHeard {
            guard let rating = seat.intake.rating(at: now), rating > -Double(AudioRest.quiet) else { continue }
            // A gain above 1 is in the rating already (`AudioIntake.collect`).
            ratings.append((id, rating + 20 * log10(Double(min(1, max(seat.gain * levelling(id), 0.001))))))
        }
        return audible.choose(ratings, most: mixer.configuration.maxSpeakers, at: now)
    }

    /// Nests the borrows of the buffers: their pointers are valid only inside the closures.
    private func mix(_ sources: [String], at index: Int, inputs: [AudioMixInput]) {
        guard index < sources.count else { return mixer.mix(inputs) }
        let id = sources[index]
        (sampleBuffers[id] ?? []).withUnsafeBufferPointer { samples in
            // The mixer ramps a participant who has just been muted or has left to silence.
            let gain = seats[id].map { $0.isHeard ? $0.gain : 0 } ?? 0
            let input = AudioMixInput(id: id, samples: samples, gain: gain)
            mix(sources, at: index + 1, inputs: inputs + [input])
        }
    }

    private func detectSpeakers(_ now: Instant) {
        var levels: [String: Double] = [:]
        for id in seats.keys { levels[id] = mixer.levels[id] ?? LevelMeter.silence }
        detector.update(levels: levels, at: now)
        loudness.update(levels: levels, speaking: detector.speaking, at: now)
        let heard = Speakers(
            active: detector.active, ranks: detector.ranks, speaking: detector.speaking, loudest: loudness.order)
        if heard != speakers {
            speakers = heard
            speakersChanged(heard)
        }
    }

    /// The settings that the seat's profile wants, or at the limit the best of those in use that the peer can take.
    private func coding(for seat: Seat, _ now: Instant) -> AudioCoding {
        let wanted = seat.profile.coding(bitRate, receiverLimits: seat.receiverLimits)
        var chosen = wanted
        if codings[wanted] == nil, codings.count >= Self.mostCodings {
            chosen =
                codings.keys.filter { $0.canReplace(wanted, for: seat.receiverLimits) }
                .max { ($0.bitRate, $0.expectedLoss) < ($1.bitRate, $1.expectedLoss) } ?? .least
        }
        if chosen != .least { codings[chosen] = now }
        return chosen
    }

    private func encode(_ key: EncoderKey, _ now: Instant) -> Packet {
        let nothing = Packet(payload: [], level: 127)
        guard let audio = gather(key) else { return nothing }
        let sinceLast = lastUse[key].map { now - $0 }
        let isRunning = sinceLast.map { $0 < AudioClock.period * (Double(key.ticksPerPacket) + 0.5) } ?? false
        let level = LevelMeter.headerValue(of: audio)
        quietPackets[key] = level == Self.silentLevel ? (quietPackets[key] ?? 0) + 1 : nil
        let earlier = key.ticksPerPacket > 1 ? previousPair : previous
        if let packet = packetOfSilence(key, isRunning: isRunning, after: earlier) {
            return suppressed(key, packet) ? nothing : Packet(payload: packet, level: level)
        }
        lastUse[key] = now
        do {
            let encoder = try encoders[key] ?? key.coding.makeEncoder()
            encoders[key] = encoder
            if !isRunning {
                try encoder.restart(after: earlier.audio(without: key.without))
                silent.remove(key)
            }
            let packet = try encoder.encode(audio)
            return suppressed(key, packet) ? nothing : Packet(payload: packet, level: level)
        } catch {
            encoders[key] = nil
            return nothing
        }
    }

    /// The next packet of a mix that has been silent for so long that its encoder is not needed, or that had none and
    /// begins with silence after silence.
    private func packetOfSilence(_ key: EncoderKey, isRunning: Bool, after earlier: TickAudio) -> [UInt8]? {
        guard let quiet = quietPackets[key] else { return nil }
        if isRunning {
            guard quiet > Self.fadingPackets else { return nil }
        } else if quiet == 1 {
            guard LevelMeter.headerValue(of: earlier.audio(without: key.without)) == Self.silentLevel else {
                return nil
            }
            silent.remove(key)
        }
        return silence.packet(key.coding, quiet)
    }

    /// Whether a packet need not be sent: with DTX the first empty one says that silence begins (RFC 7587 §3.1.3).
    private func suppressed(_ key: EncoderKey, _ packet: [UInt8]) -> Bool {
        guard key.coding.usesDTX, packet.count <= 2 else {
            silent.remove(key)
            return false
        }
        return !silent.insert(key).inserted
    }

    /// The samples of a packet; nil while only its first half is there.
    private func gather(_ key: EncoderKey) -> [Float]? {
        let now = key.without.map { mixer.mix(without: $0) } ?? mixer.full
        guard key.ticksPerPacket > 1 else { return now }
        let full = EncoderKey(without: nil, coding: key.coding)
        guard isSecondTick else {
            firstTicks[key] = now
            if firstTicks[full] == nil { firstTicks[full] = mixer.full }
            return nil
        }
        // A participant who began to speak between the two ticks hears its own first 20 ms.
        return (firstTicks[key] ?? firstTicks[full]).map { $0 + now }
    }

    private func forgetIdleEncoders(_ now: Instant) {
        for (coding, used) in codings where now - used > .seconds(10) { codings[coding] = nil }
        for (key, used) in lastUse where now - used > .seconds(10) {
            lastUse[key] = nil
            encoders[key] = nil
            silent.remove(key)
        }
        for key in quietPackets.keys where codings[key.coding] == nil || key.without.map({ seats[$0] == nil }) == true {
            quietPackets[key] = nil
            silent.remove(key)
        }
    }

    /// The encoders that the room has, or had within the last ten seconds.
    var encoderCount: Int { encoders.count }
}
