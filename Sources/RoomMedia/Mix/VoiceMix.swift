import Basics
import Codecs
import Mixing

/// A participant's audio in one tick, and whose mixes have it.
struct MixVoice {
    var id: String
    /// 20 ms, mono, 48 kHz.
    var samples: [Float]
    var gain: Float
    var group: GroupID
    var isHeardEverywhere: Bool

    func isHeard(in groups: Set<GroupID>) -> Bool { isHeardEverywhere || groups.contains(group) }
}

/// An encoded tick of a mix.
struct MixPacket {
    var payload: [UInt8]
    /// In −dBov (RFC 6464).
    var level: UInt8
    var ticks: Int
}

/// A mix of the voices of some groups, for those who hear just these, with its encoders. A room without breakout groups
/// has one. Confined to the audio thread.
final class VoiceMix {
    private struct EncoderKey: Hashable {
        /// nil: the full mix.
        var without: String?
        var coding: AudioCoding

        var ticksPerPacket: Int { coding.ticksPerPacket }
    }

    /// The mixes of one tick.
    private struct TickAudio {
        var full: [Float] = []
        /// Each contributor's mix, without its own audio.
        var own: [String: [Float]] = [:]

        func audio(without id: String?) -> [Float] { id.flatMap { own[$0] } ?? full }
    }

    /// The most encoder settings in one mix, and `AudioCoding.least` beside them: each costs 0.1 ms of every tick of
    /// all rooms, and as much again for each contributor. Participants on links of all kinds need six.
    static let mostCodings = 8

    /// Whose voices are in it.
    let groups: Set<GroupID>
    private let mixer: AudioMixer
    private let bitRate: BitRate
    private var audible = AudibleVoices()
    /// Whose voices the last tick had.
    private var heard: Set<String> = []
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
    /// The encoders that have announced the beginning of silence (DTX).
    private var silent: Set<EncoderKey> = []
    /// The packets of this tick.
    private var packets: [EncoderKey: MixPacket] = [:]

    init(of groups: Set<GroupID>, maxSpeakers: Int, bitRate: BitRate) {
        self.groups = groups
        self.bitRate = bitRate
        var mixing = AudioMixerConfiguration()
        mixing.maxSpeakers = maxSpeakers
        mixer = AudioMixer(configuration: mixing)
        (previous.full, previousPair.full) = (mixer.full, mixer.full)
    }

    /// Whether its taps have a mix of their own now.
    var hasOutgoing: Bool { mixer.hasOutgoing }
    /// The mix without participants who are not recorded.
    var outgoing: [Float] { mixer.outgoing }
    /// The level of a voice of this tick, in dBov.
    func level(of id: String) -> Double { mixer.levels[id] ?? LevelMeter.silence }

    /// The participants to decode where more are there than are mixed at once.
    ///
    /// - Parameter ratings: levels in dBov of those who do not rest.
    func loudest(_ ratings: [(id: String, rating: Double)], at now: Instant) -> Set<String> {
        audible.choose(ratings, most: mixer.configuration.maxSpeakers, at: now)
    }

    // MARK: - Ticks

    /// Mixes a tick of the room's voices. Who was in the last one and is not any more fades out without a click.
    ///
    /// - Parameters:
    ///   - leftOut: those who are not in `outgoing`.
    ///   - isTapped: whether something takes `outgoing`.
    ///   - isSecondTick: whether packets of two ticks end with this one.
    func mix(_ voices: [MixVoice], leftOut: Set<String>, isTapped: Bool, isSecondTick: Bool) {
        self.isSecondTick = isSecondTick
        keepPreviousTick()
        (mixer.leftOut, mixer.mixesOutgoing) = (leftOut, isTapped)
        var inputs: [MixVoice] = []
        var present: Set<String> = []
        for var voice in voices {
            if voice.isHeard(in: groups) {
                present.insert(voice.id)
            } else if heard.contains(voice.id) {
                voice.gain = 0
            } else {
                continue
            }
            inputs.append(voice)
        }
        heard = present
        mix(inputs[...], [])
    }

    /// Nests the borrows of the buffers: their pointers are valid only inside the closures.
    private func mix(_ voices: ArraySlice<MixVoice>, _ inputs: [AudioMixInput]) {
        guard let voice = voices.first else { return mixer.mix(inputs) }
        voice.samples.withUnsafeBufferPointer { samples in
            let input = AudioMixInput(id: voice.id, samples: samples, gain: voice.gain)
            mix(voices.dropFirst(), inputs + [input])
        }
    }

    /// Keeps the previous tick's mixes. The mixer then writes into new arrays, 4 kB for each contributor.
    private func keepPreviousTick() {
        previous.full = mixer.full
        previous.own.removeAll(keepingCapacity: true)
        for id in mixer.contributors { previous.own[id] = mixer.mix(without: id) }
        if !isSecondTick { previousPair = previous }
    }

    /// Ends the tick, after all packets.
    func endTick(_ now: Instant) {
        packets.removeAll(keepingCapacity: true)
        if isSecondTick { firstTicks.removeAll(keepingCapacity: true) }
        for (coding, used) in codings where now - used > .seconds(10) { codings[coding] = nil }
        for (key, used) in lastUse where now - used > .seconds(10) {
            lastUse[key] = nil
            encoders[key] = nil
            silent.remove(key)
        }
    }

    // MARK: - Packets

    /// The packet of this tick for a listener, without its own voice; nil: none is due.
    func packet(for seat: AudioRoom.Seat, at now: Instant) -> MixPacket? {
        let without = mixer.contributors.contains(seat.hearsAs) ? seat.hearsAs : nil
        let key = EncoderKey(without: without, coding: coding(for: seat, now))
        let packet = packets[key] ?? encode(key, now)
        packets[key] = packet
        return packet.payload.isEmpty ? nil : packet
    }

    /// The settings that the seat's profile wants, or at the limit the best of those in use that the peer can take.
    private func coding(for seat: AudioRoom.Seat, _ now: Instant) -> AudioCoding {
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

    private func encode(_ key: EncoderKey, _ now: Instant) -> MixPacket {
        let nothing = MixPacket(payload: [], level: 127, ticks: key.ticksPerPacket)
        let isRunning = lastUse[key].map { now - $0 < AudioClock.period * 1.5 } ?? false
        lastUse[key] = now
        do {
            let encoder = try encoders[key] ?? key.coding.makeEncoder()
            encoders[key] = encoder
            if !isRunning {
                let earlier = key.ticksPerPacket > 1 ? previousPair : previous
                try encoder.restart(after: earlier.audio(without: key.without))
                silent.remove(key)
            }
            guard let audio = gather(key) else { return nothing }
            let packet = try encoder.encode(audio)
            // DTX: the first empty packet says that silence begins, the others need not be sent (RFC 7587 §3.1.3).
            let isSilence = key.coding.usesDTX && packet.count <= 2
            let wasSilent = silent.contains(key)
            if isSilence { silent.insert(key) } else { silent.remove(key) }
            if isSilence && wasSilent { return nothing }
            return MixPacket(payload: packet, level: LevelMeter.headerValue(of: audio), ticks: key.ticksPerPacket)
        } catch {
            encoders[key] = nil
            return nothing
        }
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
}
