import Testing

@testable import Peer

@Suite struct SessionDescriptionTests {
    @Test func everyFixtureIsThere() { #expect(SDPFixtures.names.count >= 45) }

    @Test(arguments: SDPFixtures.names) func printingAFixtureKeepsItsMeaning(_ name: String) throws {
        let text = try SDPFixtures.text(name)
        let parsed = try SessionDescription(parsing: text)
        #expect(try SessionDescription(parsing: parsed.description) == parsed)
        #expect(parsed.media.count == text.split(separator: "\r\n").count { $0.hasPrefix("m=") })
        #expect(
            parsed.media.reduce(0) { $0 + $1.candidates.count }
                == text.split(separator: "\r\n").count { $0.hasPrefix("a=candidate:") })
        #expect(
            parsed.media.reduce(0) { $0 + $1.codecs.count }
                == text.split(separator: "\r\n").count { $0.hasPrefix("a=rtpmap:") })
        for section in parsed.media where !section.isRejected {
            #expect(section.iceUfrag != nil)
            #expect(!section.fingerprints.isEmpty)
            #expect(section.mid != nil)
        }
    }

    @Test func codecsFollowTheOrderOfTheMediaLine() throws {
        let video = try #require(try SDPFixtures.parsed("firefox153-av-simulcast").media.first)
        #expect(video.codecs.map(\.payloadType) == [120, 124, 121, 125, 99, 100, 123, 122, 119])
        #expect(video.codec(124)?.parameters["apt"] == "120")
        #expect(video.simulcast?.send == [["q"], ["h"], ["f"]])
        #expect(video.ssrcGroups.count == 3)
    }

    @Test func bundleOnlyIsNoRejection() throws {
        let offer = try SDPFixtures.parsed("firefox153-maxbundle-no-rtcpmux-negotiate")
        #expect(offer.media[1].port == 0)
        #expect(!offer.media[1].isRejected)
        #expect(try SDPFixtures.parsed("firefox153-stopped-transceiver").media[1].isRejected)
    }

    @Test(arguments: [
        ("hello", 1), ("v=0\r\no=- 1 1 IN IP4\r\n", 2), ("v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\nm=video 99999 X 1\r\n", 3),
        ("v=0\no=- 1 1 IN IP4 0.0.0.0\nm=audio 9 RTP/SAVPF 0\na=setup:sometimes\n", 4),
        ("v=0\no=- 1 1 IN IP4 0.0.0.0\nm=audio 9 RTP/SAVPF 0\na=rtpmap:300 opus/48000\n", 4),
        ("v=0\no=- 1 1 IN IP4 0.0.0.0\nm=audio 9 RTP/SAVPF 0\na=fingerprint:sha-256 XY\n", 4),
        ("v=0\no=- 1 1 IN IP4 0.0.0.0\na=ice-pwd:short\n", 3),
    ]) func anErrorNamesItsLine(_ text: String, line: Int) {
        let error = #expect(throws: SDPError.self) { try SessionDescription(parsing: text) }
        #expect(error?.line == line)
        #expect(error?.code == .malformed)
    }

    @Test func lengthSectionsAndCandidatesAreBounded() throws {
        let head = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"
        let section = "m=audio 9 RTP/SAVPF 0\r\n"
        #expect(throws: SDPError.self) {
            try SessionDescription(parsing: head + String(repeating: "a=x\r\n", count: 220_000))
        }
        #expect(throws: SDPError.self) { try SessionDescription(parsing: head + String(repeating: section, count: 65)) }
        #expect(try SessionDescription(parsing: head + String(repeating: section, count: 64)).media.count == 64)
        let candidate = "a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\n"
        let many = try SessionDescription(parsing: head + section + String(repeating: candidate, count: 400))
        #expect(many.media[0].candidates.count == 256)
    }

    /// RFC 4585 §4.2.
    @Test func wildcardFeedbackCountsForEveryCodec() throws {
        let text = "v=0\no=- 1 1 IN IP4 0.0.0.0\nm=video 9 RTP/SAVPF 96\na=rtcp-fb:* nack\na=rtpmap:96 VP8/90000\n"
        #expect(try SessionDescription(parsing: text).media[0].codecs[0].feedback == ["nack"])
    }
}

@Suite struct H264FormatTests {
    @Test(arguments: [
        ("profile-level-id=42e01f;packetization-mode=1", H264Format.Profile.constrainedBaseline, 1),
        ("profile-level-id=42c01f", .constrainedBaseline, 0), ("profile-level-id=42001f", .baseline, 0),
        ("", .baseline, 0),
        ("profile-level-id=4d001f", .main, 0), ("profile-level-id=640c1f", .constrainedHigh, 0),
        ("profile-level-id=64001F", .high, 0),
    ]) func profilesAreTold(_ text: String, profile: H264Format.Profile, mode: Int) throws {
        let format = try #require(H264Format(FormatParameters(parsing: text)))
        #expect(format.profile == profile)
        #expect(format.packetizationMode == mode)
    }

    @Test func nonsenseIsNoFormat() {
        #expect(H264Format(FormatParameters(parsing: "profile-level-id=xyz")) == nil)
        #expect(H264Format(FormatParameters(parsing: "profile-level-id=+2e01f")) == nil)
    }
}
