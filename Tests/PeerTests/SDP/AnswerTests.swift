import Basics
import Testing

@testable import Peer

@Suite struct AnswerTests {
    typealias F = SDPFixtures

    @Test(arguments: F.answerable) func everyFixtureIsAnsweredByTheBook(_ name: String) throws {
        let offer = try F.parsed(name)
        var negotiation = Negotiation(configuration: F.configuration())
        let (made, session) = try negotiation.answer(offer, newCredentials: F.credentials)
        // The test checks the printed and parsed answer.
        let answer = try SessionDescription(parsing: made.description)
        #expect(answer.isIceLite)
        #expect(answer.media.count == offer.media.count)
        #expect(session.sections.count == offer.media.count)
        #expect(answer.extmapAllowMixed == offer.extmapAllowMixed)
        let acceptedMids = zip(answer.media, session.sections).filter(\.1.accepted).compactMap(\.0.mid)
        let expected = (offer.bundles.first ?? []).filter(acceptedMids.contains)
        #expect(answer.bundles == [expected])
        #expect(!expected.isEmpty)
        let role: SetupRole = offer.media.first { !$0.isRejected }?.setup == .passive ? .active : .passive
        for (remote, (local, section)) in zip(offer.media, zip(answer.media, session.sections)) {
            #expect(local.kind == remote.kind)
            #expect(local.mid == remote.mid)
            #expect(local.proto == remote.proto)
            #expect(!local.formats.isEmpty)
            guard section.accepted else {
                #expect(local.port == 0)
                continue
            }
            #expect(!remote.isRejected)
            #expect(local.port == 9)
            #expect(local.iceUfrag == F.credentials.ufrag)
            #expect(local.icePassword == F.credentials.password)
            #expect(local.setup == role)
            #expect(local.fingerprints == [F.configuration().fingerprint])
            if remote.kind == .application {
                #expect(local.sctpPort == 5000)
                continue
            }
            checkMedia(remote, local, section)
        }
        let carrier = try #require(answer.media.first { $0.mid == expected.first })
        #expect(carrier.candidates.count == 2)
        #expect(carrier.endOfCandidates)
        #expect(session.remoteCandidates.allSatisfy { $0.component == 1 })
        for kind in [MediaKind.audio, .video] {
            let live = offer.media.contains { $0.kind == kind && !$0.isRejected }
            #expect(session.sections.count { $0.accepted && $0.kind == kind } == (live ? 1 : 0))
        }
    }

    private func checkMedia(_ remote: MediaDescription, _ local: MediaDescription, _ section: NegotiatedSection) {
        #expect(!(local.direction.sends && !remote.direction.receives))
        #expect(!(local.direction.receives && !remote.direction.sends))
        #expect(local.direction == remote.direction.mirrored)
        #expect(section.direction == local.direction)
        #expect(local.rtcpMux)
        #expect(local.rtcpReducedSize == remote.rtcpReducedSize)
        #expect(local.formats == local.codecs.map { String($0.payloadType) })
        for codec in local.codecs {
            let offered = remote.codec(codec.payloadType)
            #expect(offered?.name.lowercased() == codec.name.lowercased())
            #expect(["opus", "red", "vp8", "h264", "rtx"].contains(codec.name.lowercased()))
            #expect(Set(codec.feedback).isSubset(of: Set(offered?.feedback ?? [])))
            if codec.isNamed("rtx") {
                #expect(codec.parameters["apt"] == offered?.parameters["apt"])
                #expect(local.formats.contains(codec.parameters["apt"] ?? ""))
            }
            if codec.isNamed("h264") {
                let ours = H264Format(codec.parameters)
                let theirs = H264Format(offered?.parameters ?? FormatParameters())
                #expect(ours != nil && theirs.map { ours?.matches($0) == true } == true)
            }
            if codec.isNamed("opus") { #expect(codec.parameters.description.hasPrefix("minptime=10;useinbandfec=1")) }
        }
        for mapping in local.extensions {
            #expect(remote.extensions.contains { $0.id == mapping.id && $0.uri == mapping.uri })
            #expect(F.configuration().headerExtensions.map(\.rawValue).contains(mapping.uri))
        }
        #expect(local.msids.isEmpty == !local.direction.sends)
        if local.direction.sends {
            let rtx = local.codecs.contains { $0.isNamed("rtx") }
            #expect(local.ssrcs.map(\.ssrc) == (section.kind == .audio ? [1001] : rtx ? [2001, 2002] : [2001]))
            #expect(local.ssrcs.allSatisfy { $0.cname == "mix" })
            #expect(
                local.ssrcGroups
                    == (section.kind == .video && rtx ? [SSRCGroup(semantics: "FID", ssrcs: [2001, 2002])] : []))
        } else {
            #expect(local.ssrcs.isEmpty)
        }
    }

    @Test func redundantAudioIsTakenWhereItIsOfferedAndNeverPreferred() throws {
        for name in F.answerable {
            var negotiation = Negotiation(configuration: F.configuration())
            let offer = try F.parsed(name)
            let (answer, session) = try negotiation.answer(offer, newCredentials: F.credentials)
            guard let audio = session.section(.audio) else { continue }
            let offers = name.hasPrefix("chromium")
            #expect(audio.codecs.first?.redPayloadType == (offers ? 63 : nil), "\(name)")
            let section = try #require(answer.media.first { $0.mid == audio.mid })
            #expect(
                section.formats == (offers ? ["111", "63"] : [String(audio.codecs[0].payloadType)]),
                "Chromium sends what stands first")
            if offers { #expect(answer.description.contains("a=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\n")) }
        }
    }

    @Test func redundantAudioThatTheOfferHasFirstIsFirstInTheAnswer() throws {
        let text = try F.text("chromium156-audio-only").replacing("SAVPF 111 63", with: "SAVPF 63 111")
        let rtpmap = "a=rtpmap:63 red/48000/2"
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix(rtpmap) }
        let offer = lines.flatMap { $0.hasPrefix("a=rtpmap:111") ? [Substring(rtpmap), $0] : [$0] }
            .joined(separator: "\n")
        var negotiation = Negotiation(configuration: F.configuration())
        let (answer, session) = try negotiation.answer(
            SessionDescription(parsing: offer), newCredentials: F.credentials)
        #expect(answer.media.first?.formats == ["63", "111"])
        #expect(session.section(.audio)?.codecs.map(\.name) == [.opus])
    }

    @Test(
        arguments: [
            ("111/111", true), ("111/111/111", true), ("111", false), ("9/9", false), ("111/9", false), ("", false),
            ("111/", false),
            ("111/111;x=1", true), ("x=111/111", false),
        ])
    func redundantAudioMustBeOfOpus(_ parameters: String, isTaken: Bool) throws {
        let text = try F.text("chromium156-audio-only").replacing("a=fmtp:63 111/111", with: "a=fmtp:63 \(parameters)")
        var negotiation = Negotiation(configuration: F.configuration())
        let (_, session) = try negotiation.answer(SessionDescription(parsing: text), newCredentials: F.credentials)
        #expect(session.section(.audio)?.codecs.first?.redPayloadType == (isTaken ? 63 : nil))
        var configuration = F.configuration()
        configuration.takesRedundantAudio = false
        var refusing = Negotiation(configuration: configuration)
        #expect(
            try !refusing.answer(SessionDescription(parsing: text), newCredentials: F.credentials).0.description
                .contains("red/48000"))
    }

    @Test func anOfferOfOursHasRedundantAudioAndTakesTheAnswersWord() throws {
        for takes in [true, false] {
            var ours = Negotiation(configuration: F.configuration())
            var other = F.configuration(lite: false)
            other.takesRedundantAudio = takes
            var theirs = Negotiation(configuration: other)
            let offer = ours.makeOffer()
            #expect(offer.description.contains("a=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\n"))
            let (answer, _) = try theirs.answer(
                SessionDescription(parsing: offer.description), newCredentials: F.otherCredentials)
            let session = try ours.accept(answer: SessionDescription(parsing: answer.description))
            #expect(session.section(.audio)?.codecs.map(\.redPayloadType) == [takes ? 63 : nil])
            // And again in the next one.
            #expect(ours.makeOffer().description.contains("red/48000/2") == takes)
        }
        var compact = F.configuration()
        compact.isCompact = true
        var negotiation = Negotiation(configuration: compact)
        #expect(!negotiation.makeOffer().description.contains("red/48000"))
    }

    @Test(arguments: F.unanswerable) func withoutACommonVideoCodecTheErrorSaysSo(_ name: String) throws {
        var negotiation = Negotiation(configuration: F.configuration())
        let offer = try F.parsed(name)
        let error = #expect(throws: SDPError.self) { _ = try negotiation.answer(offer, newCredentials: F.credentials) }
        #expect(error?.code == .noCommonCodec)
        #expect(negotiation.localDescription == nil)
    }

    @Test func theFirstH264IsConstrainedBaselineWithFragmentation() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        let (_, session) = try negotiation.answer(F.parsed("chromium156-av-h264-only"), newCredentials: F.credentials)
        let codecs = try #require(session.section(.video)).codecs
        #expect(codecs.map(\.payloadType) == [108, 102, 116, 114, 104, 39])
        #expect(codecs[0].h264?.profile == .constrainedBaseline)
        #expect(codecs[0].rtxPayloadType == 109)
    }

    @Test func aPreferenceReordersAndRestricts() throws {
        var configuration = F.configuration()
        configuration.videoCodecs = [.h264]
        configuration.videoBandwidth = .megabits(1.5)
        var negotiation = Negotiation(configuration: configuration)
        let (answer, session) = try negotiation.answer(F.parsed("chromium156-av"), newCredentials: F.credentials)
        #expect(session.section(.video)?.codecs.allSatisfy { $0.name == .h264 } == true)
        #expect(answer.description.contains("b=AS:1500\r\nb=TIAS:1500000\r\n"))
    }

    @Test(arguments: ["chromium156-av-simulcast", "firefox153-av-simulcast"]) func simulcastIsReceivedWhole(
        _ name: String
    ) throws {
        var negotiation = Negotiation(configuration: F.configuration())
        let (answer, session) = try negotiation.answer(F.parsed(name), newCredentials: F.credentials)
        #expect(session.section(.video)?.remoteRIDs == ["q", "h", "f"])
        #expect(answer.description.contains("a=simulcast:recv q;h;f\r\n"))
        #expect(answer.description.contains("a=rid:q recv\r\n"))
        #expect(session.section(.video)?.headerExtensions.rid != nil)
    }

    @Test func dependencyDescriptorAndOrientationAreDeclined() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        let (answer, session) = try negotiation.answer(
            F.parsed("chromium156-av-simulcast"), newCredentials: F.credentials)
        #expect(!answer.description.contains("dependency-descriptor"))
        #expect(!answer.description.contains("video-orientation"))
        #expect(session.section(.video)?.headerExtensions.videoOrientation == nil)
    }

    @Test(
        "The playout-delay extension is negotiated with browsers",
        arguments: [("chromium156-av", 5, ""), ("firefox153-av", 6, "/sendonly")])
    func playoutDelay(name: String, id: Int, direction: String) throws {
        var negotiation = Negotiation(configuration: F.configuration())
        let (answer, session) = try negotiation.answer(F.parsed(name), newCredentials: F.credentials)
        #expect(session.section(.video)?.headerExtensions.playoutDelay == UInt8(id))
        #expect(session.section(.audio)?.headerExtensions.playoutDelay == nil)
        #expect(answer.description.contains("a=extmap:\(id)\(direction) \(HeaderExtension.playoutDelay.rawValue)\r\n"))
    }

    @Test func sourcesAndRetransmissionsArePaired() throws {
        var negotiation = Negotiation(configuration: F.configuration())
        let (_, session) = try negotiation.answer(F.parsed("chromium156-av-data"), newCredentials: F.credentials)
        let video = try #require(session.section(.video))
        #expect(video.remoteSources == [RemoteSource(ssrc: 311_504_363, rtx: 3_348_387_457, cname: "F3wl8WlVIoEbb77Z")])
        #expect(session.section(.audio)?.opus?.useInbandFEC == true)
        #expect(session.sctpPort == 5000)
        #expect(session.remoteMaxMessageSize == 262_144)
        #expect(session.remoteIce.ufrag == "99OU")
    }

    /// libjingle of 2015: Plan B, mids "audio" and "video", old profile, several sources in one section, no MID
    /// extension.
    static let planB = """
        v=0\no=- 123 2 IN IP4 127.0.0.1\ns=-\nt=0 0\nBUNDLEa=msid-semantic: WMS ARDAMS
        m=audio 9 RTP/SAVPF 111 103 0\nc=IN IP4 0.0.0.0\na=ice-ufrag:abcd\na=ice-pwd:abcdefghijklmnopqrstuvwx
        a=fingerprint:sha-256 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1F
        a=setup:actpass\na=mid:audio\na=sendrecv\na=rtcp-mux\na=rtpmap:111 opus/48000/2\na=rtpmap:103 ISAC/16000\na=rtpmap:0 PCMU/8000
        a=ssrc:11 cname:x\na=ssrc:11 msid:ARDAMS ARDAMSa0
        m=video 9 RTP/SAVPF 100 116 117 96\nc=IN IP4 0.0.0.0\na=ice-ufrag:abcd\na=ice-pwd:abcdefghijklmnopqrstuvwx
        a=fingerprint:sha-256 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1F
        a=setup:actpass\na=mid:video\na=sendrecv\na=rtcp-mux\na=rtpmap:100 VP8/90000\na=rtcp-fb:100 ccm fir\na=rtcp-fb:100 nack
        a=rtpmap:116 red/90000\na=rtpmap:117 ulpfec/90000\na=rtpmap:96 rtx/90000\na=fmtp:96 apt=100
        a=ssrc-group:FID 21 22\na=ssrc:21 cname:x\na=ssrc:21 msid:ARDAMS ARDAMSv0\na=ssrc:22 cname:x
        """

    @Test(arguments: [true, false]) func planBIsAnswered(bundled: Bool) throws {
        let text = Self.planB.replacing("BUNDLE", with: bundled ? "a=group:BUNDLE audio video\n" : "")
        var negotiation = Negotiation(configuration: F.configuration())
        let (answer, session) = try negotiation.answer(SessionDescription(parsing: text), newCredentials: F.credentials)
        #expect(answer.bundles == (bundled ? [["audio", "video"]] : []))
        #expect(
            answer.media.allSatisfy { $0.proto == "RTP/SAVPF" && $0.port == 9 && $0.iceUfrag == F.credentials.ufrag })
        #expect(answer.media.map { $0.candidates.count } == (bundled ? [2, 0] : [2, 2]))
        #expect(answer.media[1].formats == ["100", "96"])
        #expect(answer.media[1].codecs[0].feedback == ["ccm fir", "nack"])
        #expect(session.section(.video)?.remoteSources == [RemoteSource(ssrc: 21, rtx: 22, cname: "x")])
        #expect(session.section(.video)?.remoteMsid == MediaStreamID(stream: "ARDAMS", track: "ARDAMSv0"))
        #expect(session.section(.video)?.headerExtensions.mid == nil)
    }

    @Test func theSenderIsPreferredOverReceivers() throws {
        var offer = try F.parsed("chromium156-av-data-plus-recvonly-video")
        offer.media.swapAt(1, 2)
        var negotiation = Negotiation(configuration: F.configuration())
        let (_, session) = try negotiation.answer(offer, newCredentials: F.credentials)
        #expect(session.sections.map(\.accepted) == [true, false, true, false, false, true])
    }

    /// Broken offers made from real ones: nothing may trap, and what is answered must be readable again.
    @Test func mutatedOffersNeverTrap() throws {
        var random = SeededRandom(seed: 20_261_121)
        let texts = try ["chromium156-av-data", "firefox153-av-simulcast", "gst-webrtcbin1.22-av-h264"].map {
            Array(try F.text($0).utf8)
        }
        var answered = 0
        for round in 0..<300 {
            var bytes = texts[round % texts.count]
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...40, using: &random)))
                case 2:
                    bytes.insert(
                        contentsOf: bytes[at..<min(bytes.count, at + 60)],
                        at: Int.random(in: 0..<bytes.count, using: &random))
                case 3: bytes.insert(contentsOf: Array("99999999999999999999".utf8), at: at)
                default: bytes[at] = [10, 13, 32, 58, 61, 47, 59].randomElement(using: &random) ?? 10
                }
                if bytes.isEmpty { bytes = [0] }
            }
            guard let offer = try? SessionDescription(parsing: String(decoding: bytes, as: UTF8.self)) else { continue }
            _ = try? SessionDescription(parsing: offer.description)
            var negotiation = Negotiation(configuration: F.configuration())
            guard let (answer, _) = try? negotiation.answer(offer, newCredentials: F.credentials) else { continue }
            answered += 1
            #expect(throws: Never.self) { try SessionDescription(parsing: answer.description) }
        }
        #expect(answered > 50)
    }
}
