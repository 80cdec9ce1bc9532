import Basics

/// Finds the codecs of the peer that both ends can use.
struct CodecMatching {
    /// The H.264 parameters that our answer repeats.
    private static let echoed = ["level-asymmetry-allowed", "packetization-mode", "profile-level-id"]

    let configuration: NegotiationConfiguration

    /// Whether a section has a codec of ours that the peer may send.
    func hasCodec(_ section: MediaDescription) -> Bool {
        section.codecs.contains { name(of: $0, kind: section.kind).map { $0.name != .av1 } ?? false }
    }

    /// The usable codecs of a section in order of preference, with the peer's payload types. AV1 is the last, where the
    /// configuration names it: peers send the first.
    ///
    /// - Parameter isSent: whether we may send: what is only sent is left out otherwise.
    func codecs(of section: MediaDescription, isSent: Bool = true) -> [NegotiatedCodec] {
        let repairs = section.kind == .video ? Self.repairs(in: section) : [:]
        let hasTransportCC = section.extensions.contains { $0.uri == HeaderExtension.transportCC.rawValue }
        let usable = section.codecs.lazy.compactMap {
            negotiated($0, in: section, repairs: repairs, hasTransportCC: hasTransportCC)
        }
        guard section.kind == .video else { return usable.first.map { [$0] } ?? [] }
        let all = Array(usable)
        var order: [NegotiatedCodec.Name] = []
        if let preferred = configuration.videoCodecs {
            order = preferred.filter { $0 != .av1 }.map { NegotiatedCodec.Name($0) }
        } else {
            for codec in all where codec.name != .av1 && !order.contains(codec.name) { order.append(codec.name) }
        }
        let canReceive = all.contains { order.contains($0.name) }
        if isSent, canReceive, configuration.videoCodecs?.contains(.av1) == true { order.append(.av1) }
        return order.flatMap { name in
            let same = all.filter { $0.name == name }.enumerated()
            return same.sorted { ($0.element.h264?.rank ?? 0, $0.offset) < ($1.element.h264?.rank ?? 0, $1.offset) }
                .map(
                    \.element)
        }
    }

    /// The first `rtx` payload type for each payload type that one repairs (RFC 4588 §8.6).
    private static func repairs(in section: MediaDescription) -> [Int: UInt8] {
        var repairs: [Int: UInt8] = [:]
        for codec in section.codecs where codec.isNamed("rtx") && !looksLikeRTCP(codec.payloadType) {
            if let repaired = codec.parameters.integer("apt"), repairs[repaired] == nil {
                repairs[repaired] = codec.payloadType
            }
        }
        return repairs
    }

    /// With RTP and RTCP on one port these payload types look like RTCP (RFC 5761 §4).
    private static func looksLikeRTCP(_ payloadType: UInt8) -> Bool { (64...95).contains(payloadType) }

    /// The codec of ours that it is; nil if it is none, or not one that we can use.
    private func name(of codec: CodecDescription, kind: MediaKind) -> (name: NegotiatedCodec.Name, h264: H264Format?)? {
        guard !Self.looksLikeRTCP(codec.payloadType) else { return nil }
        switch (kind, codec.clockRate) {
        case (.audio, 48_000) where codec.isNamed("opus"): return (.opus, nil)
        case (.video, 90_000) where codec.isNamed("vp8"): return (.vp8, nil)
        case (.video, 90_000) where codec.isNamed("av1"):
            return Self.isUsableAV1(codec.parameters) ? (.av1, nil) : nil
        case (.video, 90_000) where codec.isNamed("h264"):
            guard let format = H264Format(codec.parameters), format.isUsable else { return nil }
            return (.h264, format)
        default: return nil
        }
    }

    /// Profile 0 and a level for 1280×720 at least; both are what an offer without them means (RTP Payload Format for
    /// AV1 §7.2.1).
    private static func isUsableAV1(_ parameters: FormatParameters) -> Bool {
        (parameters.integer("profile") ?? 0) == 0 && (parameters.integer("level-idx") ?? leastAV1Level) >= leastAV1Level
    }

    /// `level-idx` of level 3.1.
    private static let leastAV1Level = 5

    private func negotiated(
        _ codec: CodecDescription, in section: MediaDescription, repairs: [Int: UInt8], hasTransportCC: Bool
    ) -> NegotiatedCodec? {
        guard let (name, h264) = name(of: codec, kind: section.kind) else { return nil }
        var feedback = CodecFeedback(codec.feedback).intersection(configuration.feedback)
        // transport-cc needs its header extension as well.
        if !hasTransportCC { feedback.remove(.transportCC) }
        // Only video is adapted to a limit.
        if name == .opus { feedback.remove(.tmmbr) }
        let red = name == .opus ? redundancy(of: codec, in: section) : nil
        return NegotiatedCodec(
            name: name, payloadType: codec.payloadType, rtxPayloadType: repairs[Int(codec.payloadType)],
            redPayloadType: red,
            prefersRed: section.codecs.first { [red, codec.payloadType].contains($0.payloadType) }?.payloadType == red,
            clockRate: codec.clockRate, parameters: codec.parameters, h264: h264, feedback: feedback)
    }

    /// The payload type of `red` whose blocks all have that codec: its parameters list them, `111/111` (RFC 2198 §5).
    private func redundancy(of codec: CodecDescription, in section: MediaDescription) -> UInt8? {
        guard configuration.takesRedundantAudio else { return nil }
        let wanted = Substring(String(codec.payloadType))
        return section.codecs.first { red in
            guard red.isNamed("red"), red.clockRate == codec.clockRate, red.channels == codec.channels,
                !Self.looksLikeRTCP(red.payloadType), let blocks = red.parameters.entries.first, blocks.value == nil
            else { return false }
            let types = blocks.name.parts("/", maximum: RedundantAudio.maximumBlocks + 1)
            return types.count >= 2 && types.allSatisfy { $0 == wanted }
        }?.payloadType
    }

    /// The codec descriptions of our session description for `codecs`.
    func descriptions(_ codecs: [NegotiatedCodec]) -> [CodecDescription] {
        codecs.flatMap { codec in
            let name: String
            var parameters = FormatParameters()
            switch codec.name {
            case .opus:
                name = "opus"
                // The default of every other parameter is fit for speech.
                parameters =
                    configuration.isCompact ? FormatParameters(parsing: "useinbandfec=1") : configuration.opusParameters
            case .vp8: name = "VP8"
            case .av1:
                name = "AV1"
                parameters.entries = codec.parameters.entries.filter { entry in
                    ["profile", "level-idx", "tier"].contains { entry.name.equals(lowercase: $0) }
                }
            case .h264:
                name = "H264"
                // Echoed exactly: to libwebrtc baseline and constrained baseline differ.
                parameters.entries = codec.parameters.entries.filter { entry in
                    Self.echoed.contains { entry.name.equals(lowercase: $0) }
                }
            }
            let media = CodecDescription(
                payloadType: codec.payloadType, name: name, clockRate: codec.clockRate,
                channels: codec.name == .opus ? 2 : nil,
                parameters: parameters, feedback: codec.feedback.lines)
            if let red = codec.redPayloadType {
                let copies = CodecDescription(
                    payloadType: red, name: "red", clockRate: codec.clockRate, channels: 2,
                    parameters: FormatParameters(parsing: "\(codec.payloadType)/\(codec.payloadType)"))
                // A browser sends the first format. After Opus, since it would send every packet twice even on the best
                // links; unless the offer has it first.
                return codec.prefersRed ? [copies, media] : [media, copies]
            }
            guard let rtx = codec.rtxPayloadType else { return [media] }
            return [
                media,
                CodecDescription(
                    payloadType: rtx, name: "rtx", clockRate: codec.clockRate,
                    parameters: FormatParameters(parsing: "apt=\(codec.payloadType)")),
            ]
        }
    }

    /// The extensions of a section that we support, for our description.
    func extensions(of section: MediaDescription, mixed: Bool) -> [ExtensionMapping] {
        var seen = Set<UInt8>()
        var kinds = Set<HeaderExtension>()
        return section.extensions.compactMap { mapping in
            guard let kind = HeaderExtension(rawValue: mapping.uri), configuration.headerExtensions.contains(kind),
                kind.applies(to: section.kind), mapping.direction != .inactive,
                // 15 is reserved in the one-byte form, above it only the two-byte form works (RFC 8285 §4.2, §4.3).
                (1...14).contains(mapping.id) || (mixed && mapping.id > 15),
                seen.insert(mapping.id).inserted, kinds.insert(kind).inserted
            else { return nil }
            return ExtensionMapping(id: mapping.id, direction: mapping.direction?.mirrored, uri: mapping.uri)
        }
    }

    static func map(_ extensions: [ExtensionMapping]) -> HeaderExtensionMap {
        var map = HeaderExtensionMap()
        for mapping in extensions {
            if let kind = HeaderExtension(rawValue: mapping.uri) { map[kind] = mapping.id }
        }
        return map
    }
}
