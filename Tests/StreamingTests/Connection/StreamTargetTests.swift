import Testing

@testable import Streaming

@Suite struct StreamTargetTests {
    private func refusal(_ text: String) throws -> String? {
        let url = try #require(MediaURL(text))
        let policy = AddressPolicy(schemes: Set(StreamTarget.schemes), hosts: [], key: "streams.hosts")
        do throws(StreamingError) {
            try StreamTarget(url: url, policy: policy, retryFor: .zero).check()
        } catch {
            #expect(!"\(error)".contains("s3cret"))
            return "\(error)"
        }
        return nil
    }

    @Test(arguments: [
        ("srt://live.example", "port"), ("srt://live.example:1?mode=listener", "caller"),
        ("srt://live.example:1?passphrase=s3cret", "10 to 79"), ("srt://live.example:1?pbkeylen=8", "16"),
        ("srt://live.example:1?latency=-1", "latency"), ("srt://live.example:1?s3cret=1", "nothing else"),
        ("rtmp://live.example", "/APP/KEY"), ("rtmp://live.example/", "/APP/KEY"),
    ]) func `What cannot be a target is refused before anything is connected`(_ text: String, _ word: String) throws {
        #expect(try refusal(text)?.contains(word) == true)
    }

    @Test(arguments: [
        "rtmp://live.example/app/key", "rtmps://live.example:443/rtmp/key?x=1",
        "srt://live.example:9000?streamid=%23!::r=a,m=publish&passphrase=0123456789&pbkeylen=32&latency=200000",
    ]) func `Targets as users have them`(_ text: String) throws { #expect(try refusal(text) == nil) }

    @Test(arguments: [
        ("rtmp://live.example/app/key", "rtmp://live.example/app"),
        ("rtmp://a:b@live.example:1936/app/inst/key", "rtmp://live.example:1936/app/inst"),
        ("rtmp://live.example/app/mp4:a/b", "rtmp://live.example/app"),
        ("rtmp://live.example/app?x=1/key", "rtmp://live.example/app?x=1"),
    ]) func `An RTMP server is told the name that the user wrote`(_ text: String, _ expected: String) throws {
        #expect(OutputConnection.connectURL(try #require(MediaURL(text))) == expected)
    }

    @Test func `An option's value is decoded`() throws {
        let url = try #require(MediaURL("srt://live.example:1?streamid=%23!::r=a%2Cb"))
        #expect(try SRTOptions(url).values == ["streamid": "#!::r=a,b"])
    }
}
