/// Frames recorded from the published apps' own code, run against this server: what their JSON libraries make of their
/// models. Names, ids and times are the recording's.
enum ClientFrames {
    /// AppRTCMobile for Android of WebRTC 06e363a6 (M67): `WebSocketRTCClient` and `WebSocketChannelClient`, on `/ws`
    /// and as bodies of `POST /message`.
    enum AppRTCAndroid {
        static let register = #"{"cmd":"register","roomid":"demo","clientid":"47990384"}"#
        static let bye = #"{"cmd":"send","msg":"{\"type\": \"bye\"}"}"#
        static let offer = #"{"sdp":"v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n","type":"offer"}"#
        static let candidate =
            #"{"type":"candidate","label":0,"id":"audio","candidate":"candidate:1 1 udp 1 192.0.2.1 5000 typ host"}"#
    }

    /// `SignalingClient` and `Message` of stasel/WebRTC-iOS 3f55d2e0, encoded by Foundation.
    enum WebRTCDemo {
        static let offer = #"{"payload":{"sdp":"v=0\r\na=x\/y","type":"offer"},"type":"SessionDescription"}"#
        static let candidate =
            #"{"payload":{"sdp":"candidate:1","sdpMLineIndex":0,"sdpMid":"0"},"type":"IceCandidate"}"#
    }

    /// FLSocketIM for Android 6bf8e0da: its models by fastjson 1.1.67.android, sent by socket.io-client 1.0.0.
    enum FLSocketIMAndroid {
        static let text =
            #"420["chat",{"bodies":{"duration":0,"latitude":0,"longitude":0,"msg":"hi","type":"txt"},"chat_type":"chat","from_user":"alice","messageTip":"hi","sendStatus":"MessageSending","sendTime":1795548535736,"timestamp":1795548535736,"to_user":"bobby"}]"#
        /// With one attachment: 0x04 and the file.
        static let picture =
            #"451-1["chat",{"bodies":{"duration":0,"fileName":"5b62ceda-cbe1-45cc-a3c5-1c898e089d65.jpg","latitude":0,"longitude":0,"originImagePath":"\/storage\/emulated\/0\/k.gif","size":{"height":200,"width":320},"type":"img","fileData":{"_placeholder":true,"num":0}},"chat_type":"chat","from_user":"alice","messageTip":"[图片]","sendStatus":"MessageSending","sendTime":1795548535757,"timestamp":1795548535757,"to_user":"bobby"}]"#
        static let recording =
            #"451-2["chat",{"bodies":{"duration":3,"fileName":"a.amr","latitude":0,"longitude":0,"type":"audio","fileData":{"_placeholder":true,"num":0}},"chat_type":"chat","from_user":"alice","messageTip":"[语音]","sendStatus":"MessageSending","sendTime":1795548535771,"timestamp":1795548535771,"to_user":"bobby"}]"#
        static let place =
            #"423["chat",{"bodies":{"detailLocationName":"Berlin","duration":0,"latitude":52.5,"locationName":"Mitte","longitude":13.4,"type":"loc"},"chat_type":"chat","from_user":"alice","messageTip":"[位置]","sendStatus":"MessageSending","sendTime":1795548535776,"timestamp":1795548535776,"to_user":"bobby"}]"#
        static let call = #"424["videoChat",{"from_user":"alice","to_user":"room_demo"}]"#
        static let join = #"42["__join",{"room":"demo"}]"#
        static let offer = #"42["__offer",{"socketId":"mcu-1","sdp":{"type":"offer","sdp":"v=0\r\n"}}]"#
        static let candidate =
            #"42["__ice_candidate",{"id":"audio","label":0,"candidate":"candidate:1 1 udp 1 192.0.2.1 5000 typ host","socketId":"mcu-1"}]"#
        /// Twice: by the button, and by the end of the call that it hears of.
        static let hangUp = #"42["closeRoom"]"#
        static let acknowledgement = #"431["我已收到消息"]"#
    }
}
