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

    /// The most ticks in a packet.
    private static let longestPacket = 3

    /// Whose voices are in it.
    let groups: Set<GroupID>
    private let mixer: AudioMixer
    private let bitRate: BitRate
    private var audible = AudibleVoices()
    /// Whose voices the last tick had.
    private var heard: Set<String> = []
    private var encoders: [EncoderKey: OpusEncoder] = [:]
    private var lastUse: [EncoderKey: Instant] = [:]
    /// The settings in use, with the time of their last use.
    private(set) var codings: [AudioCoding: Instant] = [:]
    /// Who gets which settings. A change waits until a packet of the old settings ends and one of the new begins.
    private var codingOf: [String: AudioCoding] = [:]
    /// Counts the room's ticks: packets of n ticks end with each nth.
    private var tick = 0
    /// The ticks before this one, the latest last: packets of several ticks take their audio from them, and an encoder
    /// that takes over starts from the audio before its first packet.
    private var earlier: [TickAudio]
    /// The mixes that have announced the beginning of silence (DTX).
    private var silent: Set<EncoderKey> = []
    /// The packets of silence that each mix has had in a row.
    private var quietPackets: [EncoderKey: Int] = [:]
    /// After so many packets of silence an encoder says nothing more of what was before.
    private static let fadingPackets = 10
    private static let silentLevel = LevelMeter.headerValue(LevelMeter.silence)
    /// Shared with the thread's other mixes.
    private let silence: SilencePackets
    /// The packets of this tick.
    private var packets: [EncoderKey: MixPacket] = [:]

    init(of groups: Set<GroupID>, maxSpeakers: Int, bitRate: BitRate, silence: SilencePackets) {
        self.groups = groups
        self.silence = silence
        self.bitRate = bitRate
        var mixing = AudioMixerConfiguration()
        mixing.maxSpeakers = maxSpeakers
        mixer = AudioMixer(configuration: mixing)
        earlier = Array(repeating: TickAudio(full: mixer.full), count: Self.longestPacket)
    }

    /// The encoders that it has, or had within the last ten seconds.
    var encoderCount: Int { encoders.count }
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
    ///   - tick: its number in the room.
    func mix(_ voices: [MixVoice], leftOut: Set<String>, isTapped: Bool, tick: Int) {
        self.tick = tick
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
        var previous = TickAudio(full: mixer.full)
        for id in mixer.contributors { previous.own[id] = mixer.mix(without: id) }
        earlier.removeFirst()
        earlier.append(previous)
    }

    /// Whether a packet of these settings ends with this tick.
    private func endsPacket(_ coding: AudioCoding) -> Bool { tick % coding.ticksPerPacket == coding.ticksPerPacket - 1 }
    /// Whether a packet of these settings begins with this tick.
    private func beginsPacket(_ coding: AudioCoding) -> Bool { tick % coding.ticksPerPacket == 0 }

    /// Ends the tick, after all packets.
    ///
    /// - Parameter isHeard: whether a participant's voice may be in the mix.
    func endTick(_ now: Instant, isHeard: (String) -> Bool) {
        packets.removeAll(keepingCapacity: true)
        for (coding, used) in codings where now - used > .seconds(10) { codings[coding] = nil }
        for (key, used) in lastUse where now - used > .seconds(10) {
            lastUse[key] = nil
            encoders[key] = nil
            silent.remove(key)
        }
        for key in quietPackets.keys where codings[key.coding] == nil || key.without.map(isHeard) == false {
            quietPackets[key] = nil
            silent.remove(key)
        }
    }

    /// Forgets a listener who left.
    func forget(_ id: String) { codingOf[id] = nil }

    // MARK: - Packets

    /// The packet of this tick for a listener, without its own voice; nil: none is due.
    func packet(for id: String, _ seat: AudioRoom.Seat, at now: Instant) -> MixPacket? {
        let coding = settled(coding(for: seat, now), for: id, at: now)
        guard endsPacket(coding) else { return nil }
        let speaks =
            mixer.contributors.contains(seat.hearsAs)
            || earlier.suffix(coding.ticksPerPacket - 1).contains { $0.own[seat.hearsAs] != nil }
        let key = EncoderKey(without: speaks ? seat.hearsAs : nil, coding: coding)
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

    /// The settings that a listener gets now: those that it had, until a packet of the wanted ones can follow without a
    /// gap or an overlap.
    private func settled(_ wanted: AudioCoding, for id: String, at now: Instant) -> AudioCoding {
        if let current = codingOf[id], current != wanted, !(beginsPacket(current) && beginsPacket(wanted)) {
            if current != .least { codings[current] = now }
            return current
        }
        codingOf[id] = wanted
        return wanted
    }

    private func encode(_ key: EncoderKey, _ now: Instant) -> MixPacket {
        let nothing = MixPacket(payload: [], level: 127, ticks: key.ticksPerPacket)
        let audio = gather(key)
        let sinceLast = lastUse[key].map { now - $0 }
        let isRunning = sinceLast.map { $0 < AudioClock.period * (Double(key.ticksPerPacket) + 0.5) } ?? false
        let level = LevelMeter.headerValue(of: audio)
        quietPackets[key] = level == Self.silentLevel ? (quietPackets[key] ?? 0) + 1 : nil
        let before = earlier[earlier.count - key.ticksPerPacket]
        if let packet = packetOfSilence(key, isRunning: isRunning, after: before) {
            if suppressed(key, packet) { return nothing }
            return MixPacket(payload: packet, level: level, ticks: key.ticksPerPacket)
        }
        lastUse[key] = now
        do {
            let encoder = try encoders[key] ?? key.coding.makeEncoder()
            encoders[key] = encoder
            if !isRunning {
                try encoder.restart(after: before.audio(without: key.without))
                silent.remove(key)
            }
            let packet = try encoder.encode(audio)
            if suppressed(key, packet) { return nothing }
            return MixPacket(payload: packet, level: level, ticks: key.ticksPerPacket)
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

    /// The samples of a packet that ends with this tick. In a tick in which a participant does not speak, its own mix is
    /// that of all.
    private func gather(_ key: EncoderKey) -> [Float] {
        let now = key.without.map { mixer.mix(without: $0) } ?? mixer.full
        let first = earlier.suffix(key.ticksPerPacket - 1).flatMap { $0.audio(without: key.without) }
        return first.isEmpty ? now : first + now
    }
}
