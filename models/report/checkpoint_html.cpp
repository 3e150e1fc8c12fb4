#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/report/checkpoint_report.hpp"
#include "models/report/gate.hpp"

namespace softcheck::models {
namespace {

using numerics::Verdict;

constexpr std::size_t linked_heads = 24;  // of a gate

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

std::string marked(Verdict verdict) {
  const char* name = verdict == Verdict::proved     ? "pass"
                     : verdict == Verdict::violated ? "fail"
                                                    : numerics::to_string(verdict);
  return fmt::format("<strong class=\"{0}\">{0}</strong>", name);
}

// The heads that a gate stops.
std::string gate_html(const Gate& gate, const CheckpointReport& report) {
  std::vector<const HeadCertificate*> stopped;
  for (const HeadCertificate& head : report.heads) {
    if (gate.closes(head)) stopped.push_back(&head);
  }
  std::string text =
      fmt::format("<tr><td>{}</td><td class=\"left\"><code>{}</code></td><td>{}</td><td class=\"left\">",
                  marked(stopped.empty() ? Verdict::proved : Verdict::violated), escaped(gate.text()), stopped.size());
  for (std::size_t i = 0; i < std::min(stopped.size(), linked_heads); ++i) {
    const HeadDescription& head = stopped[i]->head;
    const double value = gate.value(*stopped[i]);
    text += fmt::format("{0}<a href=\"#head-{1}-{2}\">{1}.{2}</a> ({3})", i == 0 ? "" : ", ", head.layer, head.head,
                        value >= 1000 && value < 1e7 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value));
  }
  if (stopped.size() > linked_heads) text += fmt::format(" and {} more", stopped.size() - linked_heads);
  return text + "</td></tr>\n";
}

// What a reader wants to know first.
std::string verdict_html(const CheckpointReport& report) {
  std::string text = fmt::format("<p id=\"verdict\">{} {} of {} heads certified, for every length and every input.",
                                 marked(numerics::worst(report.certificates)), report.heads.size(), report.asked);
  if (report.fail_if.empty()) text += " No condition was given (<code>--fail-if 'logit.f16 &gt; 65504'</code>).";
  text += "</p>\n";
  if (!report.fail_if.empty()) {
    text +=
        "<div class=\"wide\"><table id=\"gates\">\n<tr><th></th><th class=\"left\">fails if</th><th>heads</th>"
        "<th class=\"left\">which</th></tr>\n";
    for (const std::string& gate : report.fail_if) text += gate_html(Gate::parse(gate), report);
    text += "</table></div>\n";
  }
  std::map<std::string, std::pair<Verdict, std::size_t>> claims;  // that do not hold, and are no gate's
  for (const numerics::Certificate& certificate : report.certificates) {
    if (certificate.verdict == Verdict::proved || certificate.claim.starts_with("fail-if ")) continue;
    ++claims.try_emplace(certificate.claim, certificate.verdict, 0).first->second.second;
  }
  for (const auto& [claim, found] : claims) {
    text += fmt::format("<p>{} <code>{}</code>: {} cases</p>\n", marked(found.first), escaped(claim), found.second);
  }
  return text;
}

constexpr const char* body = R"html(
<p id="line"></p>
<noscript><p>The maps and tables need JavaScript; softcheck model --json has the same numbers.</p></noscript>
<p class="note">Each number holds for every length and every input of the head's domain, whatever the layers below compute, in exact
real arithmetic; it says nothing about typical inputs. Maps have a row for each layer and a column for each head: choose one.
Numbers have four digits; pointing at one shows all. [a, b]: an input reaches a, and b is proved.</p>
<div id="maps" class="maps"></div><h2 id="name"></h2><div class="wide"><table id="ladder"></table></div>
<details><summary>What the names mean</summary><dl id="names"></dl></details>
<h2>All heads</h2><div id="all" class="wide long"></div>
<script id="data" type="application/json">)html";

constexpr const char* behind = R"html(</script>
<script>
const data=JSON.parse(document.getElementById('data').textContent),m=data.model,heads=data.heads;
const meanings={
 spread:'how far apart the logits of one query can lie: the best of the bounds below',
 'max |logit|':'the largest absolute logit',
 'log10 N(eps)':'with more than N(eps) items every coefficient is below eps (Lemma 2.1)',
 reached:'the share of the best bound that an input reaches; at 1 no smaller bound is true',
 'spread, product':'Proposition 3.1: the norms of W_q and W_k, multiplied',
 'spread, folded':'as product, with the gain of the normalisation inside the matrices',
 'spread, joint':'the norm of the product of both matrices; with rotary positions, one weight for each plane',
 'spread, best':'the largest spread itself: a maximum over an ellipsoid; with rotary positions, the least bound found',
 'spread, context':'of inputs of at most as many items as the context has',
 'spread, enumerated':'over every token and position that the first layer can read',
 logit:'the largest absolute logit, behind a softcap where there is one',
 logit_enumerated:'the same over every token and position that the first layer can read',
 score:'the largest |q.k|, before scale and softcap',
 dispersion_length_log10:'log10 N(eps): with more than N(eps) items every coefficient is below eps',
 entropy_floor:'the least entropy of that many items, in nats',
 largest_coefficient:'the largest coefficient that one of that many items can have',
 identity_length_log10:'log10 of the items from which on adaptive temperature is 1',
 items:'what the three numbers above it speak of: the context, a window, or --n',
 window:'how many items a query sees',sink:'a score that joins the denominator',domain:'where queries and keys come from'};
const at=id=>document.getElementById(id),val=x=>x==='inf'?Infinity:x==='-inf'?-Infinity:x;
const make=(tag,text,to)=>{const e=document.createElement(tag);if(text!==undefined)e.textContent=text;if(to)to.append(e);return e};
const named=(name,to)=>{const e=make(name in meanings?'abbr':'span',name,to);if(name in meanings)e.title=meanings[name];return e};
const show=x=>{if(x===null)return 'none';if(typeof x==='number')return String(Number.isSafeInteger(x)?x:+x.toPrecision(4));if(!Array.isArray(x))return String(x);
 const [a,b]=x.map(show);return a===b?a:'['+a+', '+b+']'};
const number=(tag,x,to)=>{const e=make(tag,show(x),to);if(show(x)!==String(x))e.title=String(x);return e};
const id=h=>'head-'+h.layer+'-'+h.head,up=x=>val(x[1]);
const reached=h=>up(h.spread.best)===0?1:val(h.spread.best[0])/up(h.spread.best);
const fields=[['spread',h=>up(h.spread.best)],['max |logit|',h=>up(h.logit)],['log10 N(eps)',h=>up(h.dispersion_length_log10)],['reached',reached]];
const stops=[[0,34,78],[87,93,109],[165,156,116],[254,232,56]];
const colour=t=>{t=Math.min(1,Math.max(0,t))*3;const i=Math.min(2,Math.floor(t)),f=t-i;return 'rgb('+stops[i].map((c,k)=>Math.round(c+f*(stops[i+1][k]-c))).join()+')'};
at('line').textContent=m.path+': '+m.architecture+' ('+m.format+'), '+m.layers+' layers, '+m.heads+' heads, width '+m.hidden+', head width '+m.head_dim+', context '+m.context;
const layers=[...new Set(heads.map(h=>h.layer))],columns=Math.max(1,...heads.map(h=>h.head+1)),every=Math.ceil(columns/12);
const failing=new Set([...document.querySelectorAll('#gates a')].map(a=>a.hash));
for(const [name,f] of fields){
 const box=make('section',undefined,at('maps'));named(name,make('h3',undefined,box));
 const map=make('div',undefined,box);map.className='map';map.style.gridTemplateColumns='auto repeat('+columns+',1fr)';
 for(let c=0;c<columns;c+=every){const e=make('span',c,map);e.style.gridRow=1;e.style.gridColumn=c+2}
 layers.forEach((l,i)=>{const e=make('span',l,map);e.style.gridRow=i+2;e.style.gridColumn=1});
 const v=heads.map(f).filter(Number.isFinite),share=name==='reached',low=Math.min(...v),high=share?1:Math.max(...v);
 // One wide head would make all others look alike: colours follow the logarithm where all values are positive.
 const logs=!share&&low>0,scale=x=>logs?Math.log(x):x,middle=logs?Math.sqrt(low*high):(low+high)/2,alike=show(low)===show(high);
 for(const h of heads){const b=make('button',undefined,map),x=f(h);b.dataset.head=id(h);b.style.background=colour(alike?share:(scale(x)-scale(low))/(scale(high)-scale(low)));
  b.style.gridRow=layers.indexOf(h.layer)+2;b.style.gridColumn=h.head+2;b.title=h.layer+'.'+h.head+': '+show(x);b.setAttribute('aria-label',name+' of head '+b.title);
  b.classList.toggle('failing',failing.has('#'+id(h)));b.onclick=()=>{location.hash=id(h);choose(h)}}
 if(alike){make('p',share?'An input reaches the bound of each head: none can be smaller.':show(low)+' for every head.',box).className='note';continue}
 make('div',undefined,box).className='bar';const ends=make('div',undefined,box);ends.className='ends';
 for(const x of [low,middle,high])number('span',x,ends)}
function choose(h){at('name').textContent='Head '+h.layer+'.'+h.head+(h===widest?', the widest':'');const t=at('ladder');t.replaceChildren();
 const row=(k,v)=>{const r=make('tr',undefined,t),th=make('th',undefined,r);th.className='left';named(k,th);number('td',v,r)};
 for(const k in h.spread)row('spread, '+k,h.spread[k]);row('reached',reached(h));
 for(const k of ['logit','logit_enumerated','score','dispersion_length_log10','entropy_floor','largest_coefficient','identity_length_log10','items','window','sink','domain'])if(k in h)row(k,h[k]);
 for(const k in h.overflow)row((k.endsWith('_scaled')?'logit in ':'q.k in ')+k.replace('_scaled',''),h.overflow[k]?'fits':'may overflow');
 for(const b of document.querySelectorAll('.map button'))b.classList.toggle('chosen',b.dataset.head===id(h))}
let by=0,down=true;
function table(){at('all').replaceChildren();const t=make('table',undefined,at('all')),r=make('tr',undefined,t);make('th','head',r);
 fields.forEach(([n],i)=>{const b=make('button',undefined,make('th',undefined,r));named(n,b);b.onclick=()=>{down=by===i?!down:true;by=i;table()}});
 const f=fields[by][1];for(const h of [...heads].sort((a,b)=>(down?1:-1)*(f(b)-f(a)))){const r=make('tr',undefined,t),a=make('a',h.layer+'.'+h.head,make('td',undefined,r));a.href='#'+id(h);for(const [,g] of fields)number('td',g(h),r)}}
for(const k in meanings){make('dt',k,at('names'));make('dd',meanings[k],at('names'))}
const widest=heads.reduce((a,b)=>a&&up(a.spread.best)>=up(b.spread.best)?a:b,undefined);
const go=()=>{const h=heads.find(h=>'#'+id(h)===location.hash)||widest;if(h)choose(h)};
table();go();onhashchange=go;
</script>
</body>
</html>
)html";

}  // namespace

std::string to_html(const CheckpointReport& report, PageHead head) {
  const std::filesystem::path path(report.path);
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  std::string page = head("softcheck model: " + name);
  page += fmt::format("<h1>{}</h1>\n", escaped(name)) + verdict_html(report) + body;
  for (const char c : to_json(report, "")) {
    // Within a script element only '<' can end the data; a path may hold one.
    if (c == '<') {
      page += "\\u003c";
    } else {
      page += c;
    }
  }
  return page + behind;
}

}  // namespace softcheck::models
