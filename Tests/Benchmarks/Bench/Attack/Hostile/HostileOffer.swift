import Basics
import Peer

/// The session description of an attacker: valid, so that the server accepts it, with places for an attack's lines.
struct HostileOffer {
    static let opus: UInt8 = 111
    static let red: UInt8 = 63
    static let h264: UInt8 = 102
    static let vp8: UInt8 = 96

    var ice = ICECredentials.random()
    var fingerprint: Fingerprint
    var audioSSRC = UInt32.random(in: 1...0x3FFF_FFFF)
    var videoSSRC = UInt32.random(in: 0x4000_0000...0x7FFF_FFFF)
    /// `sendrecv`, `sendonly`, `recvonly`.
    var direction = "sendrecv"
    var hasVideo = true
    var hasChannels = true
    /// Further format parameters of Opus.
    var opusParameters = "minptime=10;useinbandfec=1"
    /// Whether transport-wide feedback is offered; otherwise REMB.
    var hasTransportFeedback = true
    var videoCodecs: [VideoCodec] = [.h264, .vp8]
    /// Further lines of the video section.
    var extraVideo: [String] = []
    /// Further formats of the video section.
    var extraFormats: [String] = []

    init(_ identity: DTLSIdentity) { fingerprint = identity.fingerprint }

    private func transport(_ mid: String) -> [String] {
        [
            "c=IN IP4 0.0.0.0", "a=mid:\(mid)", "a=rtcp-mux", "a=rtcp-rsize", "a=ice-ufrag:\(ice.ufrag)",
            "a=ice-pwd:\(ice.password)",
            "a=fingerprint:\(fingerprint)", "a=setup:actpass",
        ]
    }

    private var extensions: [String] {
        [
            "a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid",
            "a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
        ]
            + (hasTransportFeedback
                ? ["a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"] : [])
    }

    private func codec(_ codec: VideoCodec) -> [String] {
        let type = codec == .h264 ? Self.h264 : Self.vp8
        var lines = [
            "a=rtpmap:\(type) \(codec == .h264 ? "H264" : "VP8")/90000", "a=rtpmap:\(type + 1) rtx/90000",
            "a=fmtp:\(type + 1) apt=\(type)",
            "a=rtcp-fb:\(type) nack", "a=rtcp-fb:\(type) nack pli", "a=rtcp-fb:\(type) ccm fir",
            "a=rtcp-fb:\(type) ccm tmmbr",
            "a=rtcp-fb:\(type) goog-remb",
        ]
        if hasTransportFeedback { lines.append("a=rtcp-fb:\(type) transport-cc") }
        if codec == .h264 {
            lines.append("a=fmtp:\(type) level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f")
        }
        return lines
    }

    var text: String {
        var mids = ["0"]
        if hasVideo { mids.append("1") }
        if hasChannels { mids.append("2") }
        var lines = [
            "v=0", "o=- 4611 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE \(mids.joined(separator: " "))",
        ]
        lines += ["m=audio 9 UDP/TLS/RTP/SAVPF \(Self.opus) \(Self.red)"] + transport("0") + extensions
        lines += [
            "a=\(direction)", "a=rtpmap:\(Self.opus) opus/48000/2", "a=fmtp:\(Self.opus) \(opusParameters)",
            "a=rtpmap:\(Self.red) red/48000/2",
            "a=fmtp:\(Self.red) \(Self.opus)/\(Self.opus)", "a=ssrc:\(audioSSRC) cname:a",
        ]
        if hasTransportFeedback { lines.append("a=rtcp-fb:\(Self.opus) transport-cc") }
        if hasVideo {
            let formats = videoCodecs.flatMap { $0 == .h264 ? ["102", "103"] : ["96", "97"] } + extraFormats
            lines += ["m=video 9 UDP/TLS/RTP/SAVPF \(formats.joined(separator: " "))"] + transport("1") + extensions
            lines += ["a=\(direction)"] + videoCodecs.flatMap(codec) + ["a=ssrc:\(videoSSRC) cname:a"] + extraVideo
        }
        if hasChannels {
            lines +=
                ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel"] + transport("2") + [
                    "a=sctp-port:5000", "a=max-message-size:262144",
                ]
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }
}

/// The values that an attacker needs from the server's answer.
struct HostileAnswer {
    var ice: ICECredentials
    var fingerprint: Fingerprint
    var candidate: Candidate
    /// The server's SSRCs in its answer.
    var audioSSRC: UInt32 = 0
    var videoSSRC: UInt32 = 0
    /// Whether the server waits for the attacker's ClientHello.
    var isPassive = false

    init(parsing text: String) throws(WireError) {
        var values: [String: String] = [:]
        var candidates: [Candidate] = []
        var section = ""
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("m=") { section = String(line.dropFirst(2).prefix { $0 != " " }) }
            guard line.hasPrefix("a="), let colon = line.firstIndex(of: ":") else { continue }
            let name = line[line.index(line.startIndex, offsetBy: 2)..<colon]
            let value = String(line[line.index(after: colon)...])
            switch name {
            case "candidate": if let candidate = Candidate(parsing: value) { candidates.append(candidate) }
            case "ssrc":
                guard let ssrc = value.split(separator: " ").first.flatMap({ UInt32($0) }) else { continue }
                // The first SSRC of a section is the stream, the following ones are its repairs.
                if section == "audio", audioSSRC == 0 { audioSSRC = ssrc }
                if section == "video", videoSSRC == 0 { videoSSRC = ssrc }
            default: if values[String(name)] == nil { values[String(name)] = value }
            }
        }
        guard let ufrag = values["ice-ufrag"], let password = values["ice-pwd"],
            let print = values["fingerprint"].flatMap({ Fingerprint(parsing: $0) }),
            let candidate = candidates.first(where: { $0.transport == .udp && $0.socketAddress?.ip.isLoopback == true })
        else { throw WireError("the answer lacks credentials, fingerprint or a loopback candidate") }
        ice = ICECredentials(ufrag: ufrag, password: password)
        fingerprint = print
        self.candidate = candidate
        isPassive = values["setup"] == "passive"
    }
}
