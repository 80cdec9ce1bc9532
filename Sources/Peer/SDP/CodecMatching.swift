import Basics

/// Finds what both ends can use among the peer's codecs.
struct CodecMatching {
    let configuration: NegotiationConfiguration

    /// The usable codecs of a section in order of preference, with the peer's payload types.
    func codecs(of section: MediaDescription) -> [NegotiatedCodec] {
        let usable = section.codecs.compactMap { negotiated($0, in: section) }
        guard section.kind == .video else { return Array(usable.prefix(1)) }
        var order: [NegotiatedCodec.Name] = []
        if let preferred = configuration.videoCodecs {
            order = preferred.map { $0 == .h264 ? .h264 : .vp8 }
        } else {
            for codec in usable where !order.contains(codec.name) { order.append(codec.name) }
        }
        return order.flatMap { name in
            let same = usable.filter { $0.name == name }.enumerated()
            return same.sorted { ($0.element.h264?.rank ?? 0, $0.offset) < ($1.element.h264?.rank ?? 0, $1.offset) }.map(
                \.element)
        }
    }

    private func negotiated(_ codec: CodecDescription, in section: MediaDescription) -> NegotiatedCodec? {
        let name: NegotiatedCodec.Name
        var h264: H264Format?
        switch (section.kind, codec.name.lowercased(), codec.clockRate) {
        case (.audio, "opus", 48_000): name = .opus
        case (.video, "vp8", 90_000): name = .vp8
        case (.video, "h264", 90_000):
            guard let format = H264Format(codec.parameters), format.isUsable else { return nil }
            h264 = format
            name = .h264
        default: return nil
        }
        // With RTP and RTCP on one port these payload types look like RTCP (RFC 5761 §4).
        guard !(64...95).contains(codec.payloadType) else { return nil }
        let rtx = section.codecs.first {
            $0.isNamed("rtx") && $0.parameters.integer("apt") == Int(codec.payloadType) && !(64...95).contains($0.payloadType)
        }
        var feedback = CodecFeedback(codec.feedback).intersection(configuration.feedback)
        // transport-cc needs its header extension as well.
        if !section.extensions.contains(where: { $0.uri == HeaderExtension.transportCC.rawValue }) {
            feedback.remove(.transportCC)
        }
        // Only the picture is made to fit a limit.
        if name == .opus { feedback.remove(.tmmbr) }
        return NegotiatedCodec(
            name: name, payloadType: codec.payloadType, rtxPayloadType: rtx?.payloadType,
            redPayloadType: name == .opus ? redundancy(of: codec, in: section) : nil, clockRate: codec.clockRate,
            parameters: codec.parameters, h264: h264, feedback: feedback)
    }

    /// The payload type of `red` whose blocks are all of that codec: its parameters list them, `111/111` (RFC 2198 §5).
    private func redundancy(of codec: CodecDescription, in section: MediaDescription) -> UInt8? {
        guard configuration.takesRedundantAudio else { return nil }
        return section.codecs.first { red in
            guard red.isNamed("red"), red.clockRate == codec.clockRate, red.channels == codec.channels,
                !(64...95).contains(red.payloadType), let blocks = red.parameters.entries.first, blocks.value == nil
            else { return false }
            let types = blocks.name.split(separator: "/", omittingEmptySubsequences: false)
            return types.count >= 2 && types.allSatisfy { $0 == String(codec.payloadType) }
        }?.payloadType
    }

    /// The lines of our description for `codecs`.
    func descriptions(_ codecs: [NegotiatedCodec]) -> [CodecDescription] {
        codecs.flatMap { codec in
            let name: String
            var parameters = FormatParameters()
            switch codec.name {
            case .opus:
                name = "opus"
                parameters = configuration.opusParameters
            case .vp8: name = "VP8"
            case .h264:
                name = "H264"
                // Echoed exactly: baseline and constrained baseline are different to libwebrtc.
                parameters.entries = codec.parameters.entries.filter {
                    ["level-asymmetry-allowed", "packetization-mode", "profile-level-id"].contains($0.name.lowercased())
                }
            }
            let media = CodecDescription(
                payloadType: codec.payloadType, name: name, clockRate: codec.clockRate, channels: codec.name == .opus ? 2 : nil,
                parameters: parameters, feedback: codec.feedback.lines)
            if let red = codec.redPayloadType {
                // Behind Opus: a browser sends what stands first, and would send every packet twice on the best of lines.
                return [
                    media,
                    CodecDescription(
                        payloadType: red, name: "red", clockRate: codec.clockRate, channels: 2,
                        parameters: FormatParameters(parsing: "\(codec.payloadType)/\(codec.payloadType)")),
                ]
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

    /// The extensions of a section that we support, as lines of our description.
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
