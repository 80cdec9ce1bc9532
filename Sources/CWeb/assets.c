// Embeds the files of Sources/Gateway/Web, each by three lines and an ASSET entry. The compiler records them as
// dependencies of this file, so that a change to one is in the next build.
#include "CWeb.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "../Gateway/Web/index.html"
};
static const unsigned char sound_js[] = {
#embed "../Gateway/Web/sound.js"
};
static const unsigned char style_css[] = {
#embed "../Gateway/Web/style.css"
};
static const unsigned char main_js[] = {
#embed "../Gateway/Web/main.js"
};
static const unsigned char address_js[] = {
#embed "../Gateway/Web/address.js"
};
static const unsigned char avatar_js[] = {
#embed "../Gateway/Web/avatar.js"
};
static const unsigned char call_js[] = {
#embed "../Gateway/Web/call.js"
};
static const unsigned char channel_js[] = {
#embed "../Gateway/Web/channel.js"
};
static const unsigned char chat_js[] = {
#embed "../Gateway/Web/chat.js"
};
static const unsigned char connection_js[] = {
#embed "../Gateway/Web/connection.js"
};
static const unsigned char controls_js[] = {
#embed "../Gateway/Web/controls.js"
};
static const unsigned char devices_js[] = {
#embed "../Gateway/Web/devices.js"
};
static const unsigned char elements_js[] = {
#embed "../Gateway/Web/elements.js"
};
static const unsigned char files_js[] = {
#embed "../Gateway/Web/files.js"
};
static const unsigned char hosts_js[] = {
#embed "../Gateway/Web/hosts.js"
};
static const unsigned char icon_svg[] = {
#embed "../Gateway/Web/icon.svg"
};
static const unsigned char invite_js[] = {
#embed "../Gateway/Web/invite.js"
};
static const unsigned char layouts_js[] = {
#embed "../Gateway/Web/layouts.js"
};
static const unsigned char line_js[] = {
#embed "../Gateway/Web/line.js"
};
static const unsigned char moving_js[] = {
#embed "../Gateway/Web/moving.js"
};
static const unsigned char lobby_js[] = {
#embed "../Gateway/Web/lobby.js"
};
static const unsigned char news_js[] = {
#embed "../Gateway/Web/news.js"
};
static const unsigned char orientation_js[] = {
#embed "../Gateway/Web/orientation.js"
};
static const unsigned char people_js[] = {
#embed "../Gateway/Web/people.js"
};
static const unsigned char pickers_js[] = {
#embed "../Gateway/Web/pickers.js"
};
static const unsigned char picture_js[] = {
#embed "../Gateway/Web/picture.js"
};
static const unsigned char reactions_js[] = {
#embed "../Gateway/Web/reactions.js"
};
static const unsigned char roominfo_js[] = {
#embed "../Gateway/Web/roominfo.js"
};
static const unsigned char roster_js[] = {
#embed "../Gateway/Web/roster.js"
};
static const unsigned char self_js[] = {
#embed "../Gateway/Web/self.js"
};
static const unsigned char sending_js[] = {
#embed "../Gateway/Web/sending.js"
};
static const unsigned char settings_js[] = {
#embed "../Gateway/Web/settings.js"
};
static const unsigned char show_js[] = {
#embed "../Gateway/Web/show.js"
};
static const unsigned char side_js[] = {
#embed "../Gateway/Web/side.js"
};
static const unsigned char recordings_js[] = {
#embed "../Gateway/Web/recordings.js"
};
static const unsigned char streaming_js[] = {
#embed "../Gateway/Web/streaming.js"
};
static const unsigned char timeline_js[] = {
#embed "../Gateway/Web/timeline.js"
};
static const unsigned char unrecorded_js[] = {
#embed "../Gateway/Web/unrecorded.js"
};
static const unsigned char consent_js[] = {
#embed "../Gateway/Web/consent.js"
};
static const unsigned char signalling_js[] = {
#embed "../Gateway/Web/signalling.js"
};
static const unsigned char stage_js[] = {
#embed "../Gateway/Web/stage.js"
};
static const unsigned char tessera_js[] = {
#embed "../Gateway/Web/tessera.js"
};
static const unsigned char voice_js[] = {
#embed "../Gateway/Web/voice.js"
};
static const unsigned char player_js[] = {
#embed "../Gateway/Web/player.js"
};
static const unsigned char watch_html[] = {
#embed "../Gateway/Web/watch.html"
};
static const unsigned char watch_js[] = {
#embed "../Gateway/Web/watch.js"
};
static const unsigned char sending_state_js[] = {
#embed "../Gateway/Web/sending-state.js"
};
static const unsigned char call_session_js[] = {
#embed "../Gateway/Web/call-session.js"
};
static const unsigned char picture_choice_js[] = {
#embed "../Gateway/Web/picture-choice.js"
};
static const unsigned char signalling_state_js[] = {
#embed "../Gateway/Web/signalling-state.js"
};
static const unsigned char words_de_json[] = {
#embed "../Gateway/Web/words.de.json"
};
static const unsigned char words_en_json[] = {
#embed "../Gateway/Web/words.en.json"
};
static const unsigned char words_js[] = {
#embed "../Gateway/Web/words.js"
};

#define ASSET(name, bytes) {name, bytes, sizeof bytes}

static const struct web_asset assets[] = {
    ASSET("index.html", index_html),
    ASSET("sound.js", sound_js),
    ASSET("style.css", style_css),
    ASSET("main.js", main_js),
    ASSET("address.js", address_js),
    ASSET("avatar.js", avatar_js),
    ASSET("call.js", call_js),
    ASSET("channel.js", channel_js),
    ASSET("call-session.js", call_session_js),
    ASSET("picture-choice.js", picture_choice_js),
    ASSET("signalling-state.js", signalling_state_js),
    ASSET("chat.js", chat_js),
    ASSET("connection.js", connection_js),
    ASSET("controls.js", controls_js),
    ASSET("devices.js", devices_js),
    ASSET("elements.js", elements_js),
    ASSET("files.js", files_js),
    ASSET("hosts.js", hosts_js),
    ASSET("icon.svg", icon_svg),
    ASSET("invite.js", invite_js),
    ASSET("layouts.js", layouts_js),
    ASSET("line.js", line_js),
    ASSET("moving.js", moving_js),
    ASSET("lobby.js", lobby_js),
    ASSET("news.js", news_js),
    ASSET("orientation.js", orientation_js),
    ASSET("people.js", people_js),
    ASSET("pickers.js", pickers_js),
    ASSET("picture.js", picture_js),
    ASSET("reactions.js", reactions_js),
    ASSET("roominfo.js", roominfo_js),
    ASSET("roster.js", roster_js),
    ASSET("self.js", self_js),
    ASSET("sending.js", sending_js),
    ASSET("sending-state.js", sending_state_js),
    ASSET("settings.js", settings_js),
    ASSET("show.js", show_js),
    ASSET("side.js", side_js),
    ASSET("recordings.js", recordings_js),
    ASSET("streaming.js", streaming_js),
    ASSET("timeline.js", timeline_js),
    ASSET("unrecorded.js", unrecorded_js),
    ASSET("consent.js", consent_js),
    ASSET("signalling.js", signalling_js),
    ASSET("stage.js", stage_js),
    ASSET("tessera.js", tessera_js),
    ASSET("voice.js", voice_js),
    ASSET("player.js", player_js),
    ASSET("watch.html", watch_html),
    ASSET("watch.js", watch_js),
    ASSET("words.de.json", words_de_json),
    ASSET("words.en.json", words_en_json),
    ASSET("words.js", words_js),
};

size_t web_asset_count(void) { return sizeof assets / sizeof assets[0]; }
struct web_asset web_asset_at(size_t index) { return assets[index]; }
